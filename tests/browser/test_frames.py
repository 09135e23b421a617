"""Widgets where each output is a page of its own, as in Colab: sandboxed frames that share nothing with each other."""

import base64
import html
import json

import plotly.graph_objects as go
import pytest
from website import live

from tacl_lib.teaching import widgets
from tacl_lib.teaching.lessons.questions import QUESTIONS
from tacl_lib.teaching.widgets import light_figure
from tacl_lib.teaching.widgets.base import Figure

# A page with a widget's module and a model of its own; what the module sends to its kernel, the page answers.
_PAGE = """<!DOCTYPE html><meta charset="utf-8"><body><div id="el"></div><script type="module">
const text = (coded) => new TextDecoder().decode(Uint8Array.from(atob(coded), c => c.charCodeAt(0)));
const bytes = (name, value) => value?.base64 === undefined ? value
    : new DataView(Uint8Array.from(atob(value.base64), c => c.charCodeAt(0)).buffer);
const state = JSON.parse(text("STATE"), bytes), heard = {};
const model = {
    get: name => state[name],
    set: (name, value) => { state[name] = value; },
    on: (name, call) => { (heard[name] ??= []).push(call); },
    off: (name, call) => { heard[name] = (heard[name] ?? []).filter(each => each !== call); },
    save_changes: () => {},
    send: content => parent.postMessage({ name: "NAME", content }, "*"),
};
addEventListener("message", ({ data }) => {
    for (const call of [...(heard["msg:custom"] ?? [])]) call(data.content, [new DataView(data.buffer)]);
});
const module = await import(URL.createObjectURL(new Blob([text("MODULE")], { type: "text/javascript" })));
const widget = typeof module.default === "function" ? await module.default() : module.default;
await widget.initialize?.({ model, experimental: {} });
await widget.render({ model, el: document.querySelector("#el"), experimental: {} });
document.body.dataset.shown = "yes";
</script></body>"""


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def frame(name: str, widget, state: dict) -> str:
    module = widget._esm if isinstance(widget._esm, str) else str(widget._esm)
    page = _PAGE.replace("STATE", coded(json.dumps(state))).replace("MODULE", coded(module)).replace("NAME", name)
    return (
        f'<iframe name="{name}" sandbox="allow-scripts" width="900" height="600" srcdoc="{html.escape(page)}"></iframe>'
    )


def inside(page, name: str):
    return page.frame_locator(f'iframe[name="{name}"]')


@pytest.fixture
def page(browser):
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(90_000)
    yield opened
    context.close()


def figure() -> tuple[Figure, dict]:
    made = Figure(go.Figure(go.Scatter(x=[1, 2, 3], y=[3, 1, 2])))
    made.bind_state()
    state = made.get_state()
    return made, {name: value for name, value in state.items() if name != "_esm" and _plain(value)}


def _plain(value) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def test_each_frame_gets_plotly_although_the_library_was_shown_to_none(page):
    """The kernel is asked once a frame, and its answer draws the figure; nobody waits for another frame's window."""
    asked = []
    code = light_figure._code()
    page.expose_function("kernel", lambda name: asked.append(name) or code)
    frames = "".join(frame(name, *figure()) for name in ("first", "second"))
    page.set_content(
        f"""{frames}<script>
        addEventListener("message", async ({{ data, source }}) => {{
            if (data.content !== "library") return;
            const buffer = new TextEncoder().encode(await window.kernel(data.name)).buffer;
            source.postMessage({{ content: "library", buffer }}, "*");
        }});</script>"""
    )
    for name in ("first", "second"):
        inside(page, name).locator(
            ".js-plotly-plot .scatterlayer .point, .js-plotly-plot .scatterlayer path"
        ).first.wait_for()
    assert sorted(asked) == ["first", "second"]


def test_the_kernel_answers_a_figure_that_asks_for_the_library():
    made, sent = figure()[0], []
    made.send = lambda content, buffers=None: sent.append((content, buffers))
    made._asked(made, "library", [])
    ((content, (code,)),) = sent
    assert content == "library"
    assert len(code) > 1_000_000


def test_quiz_and_landscape_show_in_frames_of_their_own(page):
    lesson = next(iter(QUESTIONS))
    quiz, land = widgets.quiz(lesson), widgets.loss_landscape()
    names = ("start", "order", "_methods", "_fixed", "_scene")
    frames = frame("quiz", quiz, {"_questions": quiz._questions, "right": []})
    page.set_content(frames + frame("land", land, {name: getattr(land, name) for name in names}))
    for name, part in (("quiz", ".tacl-quiz fieldset"), ("land", ".tacl-land svg")):
        inside(page, name).locator(part).first.wait_for()
        inside(page, name).locator("body[data-shown=yes]").wait_for()
    inside(page, "quiz").locator("input").first.check()
    assert inside(page, "quiz").locator(".why").first.inner_text()


def test_the_memory_player_plays_in_a_frame_of_its_own(page):
    player = widgets.memory_player()
    state = {"_sides": json.loads(json.dumps(player._sides, default=live.as_text))}
    page.set_content(frame("memory", player, state))
    shown = inside(page, "memory")
    shown.locator("body[data-shown=yes]").wait_for()
    shown.locator(".step").press("End")
    assert shown.locator(".said").inner_text() == player.history.sentence(player.history.state(627))
