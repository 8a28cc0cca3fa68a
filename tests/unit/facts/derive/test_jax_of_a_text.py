"""A text that names jax and jaxlib says nothing of the plugins that it leaves out."""

from __future__ import annotations

from gpudoctor.facts.derive.cuda import _jax
from gpudoctor.model.facts import Facts, Incomplete, Known, Unknown


def _told(installed: dict[str, str]) -> dict[str, object]:
    facts = Facts()
    facts.set("python.distributions", Known(installed, "test"))
    return dict(_jax(facts))


def test_a_plugin_that_a_text_leaves_out_is_unknown() -> None:
    told = _told(Incomplete({"jax": "0.4.28", "jaxlib": "0.4.28"}))
    assert isinstance(told["jax.cuda"], Unknown) and isinstance(told["jax.plugins"], Unknown)


def test_a_whole_list_without_plugins_means_none() -> None:
    told = _told({"jax": "0.4.28", "jaxlib": "0.4.28"})
    assert told["jax.cuda"] == Known(False) and told["jax.plugins"] == Known([])


def test_a_plugin_that_a_text_names_is_there() -> None:
    assert _told(Incomplete({"jax": "0.5.3", "jax-cuda12-plugin": "0.5.3"}))["jax.cuda"] == Known(True)
