import pytest

from engine.drafters.spec import BITS, DrafterSpec, parse
from engine.errors import BadSetting


@pytest.mark.parametrize("bits", BITS)
def test_the_targets_own_weights_at_fewer_bits(bits):
    assert parse(f"self:{bits}bit") == DrafterSpec("self", bits=bits)


@pytest.mark.parametrize("text", ["self:3bit", "lookup", "none", "model:owner/name", "model:/a folder/x:y"])
def test_a_spec_reads_back_as_written(text):
    assert str(parse(text)) == text


def test_a_models_name_may_hold_anything():
    assert parse(" model: ~/models/a:b ") == DrafterSpec("model", model="~/models/a:b")


@pytest.mark.parametrize("text", ["self:7bit", "self:16bit", "self:0bit"])
def test_other_widths_are_refused_with_the_ones_there_are(text):
    with pytest.raises(BadSetting) as caught:
        parse(text)
    assert repr(text) in caught.value.message
    assert "2, 3, 4, 5, 6, 8" in caught.value.message


@pytest.mark.parametrize(
    "text", ["", "self", "self:", "self:3", "self:3bits", "lookup:3", "none:", "model:", "model: ", "eagle"]
)
def test_anything_else_is_refused_with_the_forms(text):
    with pytest.raises(BadSetting) as caught:
        parse(text)
    assert repr(text) in caught.value.message
    assert "self:Nbit" in caught.value.hint
    assert "model:PATH-OR-ID" in caught.value.hint
