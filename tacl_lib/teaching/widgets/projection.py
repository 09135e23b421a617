"""The projection playground: what A-GEM and OGD leave of a gradient, to be felt."""

import ipywidgets

from tacl_lib.report.figures.picture import Picture
from tacl_lib.teaching.widgets.base import Row, View
from tacl_lib.teaching.widgets.projection_agem import AgemPlane
from tacl_lib.teaching.widgets.projection_ogd import OgdSpace
from tacl_lib.teaching.widgets.projection_state import AgemState, OgdState, agem_state, ogd_state

__all__ = ["AgemState", "OgdState", "ProjectionPlayground", "agem_state", "ogd_state", "projection_playground"]


class ProjectionPlayground(View):
    """Two rooms: ``agem``, a plane with two arrows, and ``ogd``, a space with stored gradients."""

    def __init__(self):
        self.agem = AgemPlane(lambda sentence, wrong=False: self.tell(sentence, wrong))
        self.ogd = OgdSpace(lambda sentence, wrong=False: self.tell(sentence, wrong))
        self._rooms = {"A-GEM: two arrows in a plane": self.agem, "OGD: stored gradients in space": self.ogd}
        self.method = ipywidgets.ToggleButtons(options=list(self._rooms), style={"button_width": "250px"})
        self._room = Row([self.agem], layout=ipywidgets.Layout(overflow="hidden"))
        self.method.observe(self._enter, "value")
        super().__init__("Projection playground: what is left of a gradient", [self.method, self._room])

    def _enter(self, change) -> None:
        self.tell("")
        self._room.children = [self._rooms[change.new]]

    def still(self) -> Picture:
        return self._rooms[self.method.value].still()


def projection_playground() -> ProjectionPlayground:
    """Drag g and g_ref (A-GEM), or turn g and up to three stored gradients (OGD), and see what is left of g."""
    return ProjectionPlayground()
