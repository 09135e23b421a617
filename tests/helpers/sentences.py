"""Bad input gets one sentence."""

import pytest

from tacl_lib.errors import TaclError


def message_of(call, *words):
    """The call must raise a TaclError of one sentence that holds these words."""
    with pytest.raises(TaclError) as caught:
        call()
    message = one_sentence(caught)
    assert ". " not in message
    for word in words:
        assert str(word) in message
    return message


def one_sentence(caught) -> str:
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message
