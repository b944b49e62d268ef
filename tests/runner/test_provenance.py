"""What a shard says of its making."""

from types import SimpleNamespace

from moestat.fit import kernel
from moestat.runner import manifest, shard


def test_a_shard_and_the_manifest_name_the_code_that_computed_the_fits(monkeypatch):
    provenances = []
    for used in ("numba 0.68.1, 512-bit vectors", "numpy 2.4.6 (numba is not installed)", ""):
        monkeypatch.setattr(kernel, "used", lambda used=used: used)
        content = shard.encode(
            cell='{"seed": 1, "settings": {}}',
            arm="a",
            coords={},
            code={},
            replicates=[0],
            status=[0],
            variables={},
            attrs={},
            seconds=0.0,
            created=0.0,
            device="cpu",
        )
        header, _ = shard.verified(content)
        provenances.append(header.provenance)
        assert header.provenance["kernel"] == used
    assert "numba" in manifest.versions()
    entries = [SimpleNamespace(provenance=p) for p in [*provenances, {"device": "cpu"}]]  # the last one is from before
    assert manifest.kernels(entries) == ["numba 0.68.1, 512-bit vectors", "numpy 2.4.6 (numba is not installed)"]
