"""What may be set of a language model with sparse mixtures, and of its training (compete-smoe paper, section 6)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from moestat import own
from moestat.data_file import with_digest
from moestat.experiment import SettingsModel

ROUTERS = ("smoe", "smoe_fixed", "xmoe", "stable_moe", "compete_smoe")


def _name_or_path(value: str) -> str:
    """Accept the name of a method, or the import path of a router of the user's own."""
    if not own.is_path(value) and value not in ROUTERS:
        allowed = f"{', '.join(map(repr, ROUTERS))} or an import path 'module:name'"
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": allowed})
    return value


class Settings(SettingsModel):
    """Settings of a cell; *ours* where the paper does not say or uses a larger number."""

    router: Annotated[str, AfterValidator(_name_or_path)] = Field(
        "smoe", description="method: smoe, smoe_fixed, xmoe, stable_moe, compete_smoe, or one's own 'module:name'"
    )
    own_code: str = Field("", description="set by itself: a hash of the code of one's own router")
    competes: bool | None = Field(None, description="whether layers compete; by itself those of compete_smoe do")
    architecture: Literal["switch", "glam"] = Field("switch", description="GLaM: a dense block after each SMoE block")
    size: Literal["micro", "tiny", "small", "medium"] = Field("micro", description="micro is ours")
    blocks: int = Field(0, ge=0, description="SMoE blocks; 0: those of the size")
    width: int = Field(0, ge=0, description="of the model and of an expert's hidden layer; 0: that of the size")
    thirds: int = Field(
        3,
        ge=1,
        description="ours: of blocks and width, in whole blocks and eights; 4 makes the paper's medium of its small",
    )
    length: int = Field(0, ge=0, description="symbols per window; 0: that of the size (512 in the paper)")
    experts: int = Field(16, ge=2, description="N")
    top_k: int = Field(2, ge=1, description="K")
    probability: float = Field(0.05, ge=0, le=1, description="lambda, the mean of lambda(t)")
    form: Literal["constant", "falling", "rising"] = Field("constant", description="of lambda(t); the others are ours")
    alpha: float = Field(5.0, ge=0, description="factor of the task's loss in the router's objective, equation 5")
    router_weight: float = Field(1.0, ge=0, description="factor of the router loss; 1 in the paper")
    competition_output: Literal["router", "competition"] = Field(
        "router", description="whose routing makes the output in a step that competes: equation 5, or section 3.1"
    )
    stage_one: float = Field(0.1, gt=0, le=1, description="StableMoE: share of the steps before its router is frozen")
    balance: float = Field(0.0, ge=0, description="weight of the load-balancing loss; the paper trains without")
    reading: Literal["paper", "published"] = Field(
        "paper", description="of L_R, XMoE and StableMoE: the papers', or the code that the authors published"
    )
    norm: Literal["before", "after"] = Field("before", description="ours: LayerNorm before or after each part")
    dropout: float = Field(0.0, ge=0, lt=1, description="share dropped of what attention and feed-forward part add")
    steps: int = Field(1000, ge=1, description="60 000 or 80 000 in the paper")
    batch: int = Field(16, ge=1, description="windows per step; 48 in the paper")
    rate: float = Field(3e-3, gt=0, description="largest rate; 7e-4 in the paper")
    warmup: float = Field(0.1, gt=0, le=1, description="ours: share of the steps in which the rate rises")
    schedule: Literal["inverse_sqrt", "constant"] = Field(
        "inverse_sqrt", description="of the rate; 1/sqrt(t) in the paper"
    )
    clip: float = Field(1.0, ge=0, description="ours: largest norm of the gradient; 0: gradients are not clipped")
    beta1: float = Field(0.9, ge=0, lt=1, description="of Adam; the paper does not say")
    beta2: float = Field(0.98, ge=0, lt=1, description="ours: of Adam; the paper does not say")
    decay: float = Field(0.0, ge=0, description="weight decay of matrices, as in AdamW; 0 is Adam, as in the paper")
    precision: Literal["single", "mixed"] = Field(
        "single", description="mixed: products in bfloat16 and fused attention; faster on a GPU, not to the bit"
    )
    every: int = Field(100, ge=1, description="ours: steps between two validations")
    validation: int = Field(32768, ge=0, description="ours: symbols of a validation; 0: the whole part")
    test: int = Field(0, ge=0, description="ours: symbols of the test; 0: the whole part")
    file: str = Field("", description="own text, enwik8, text8 or a folder of WikiText; shipped plays if empty")
    file_sha256: str = Field("", description="SHA-256 of the file; found when empty, else it must be this")
    keep_model: bool = Field(False, description="write the trained weights to the folder models of the cache")

    @model_validator(mode="before")
    @classmethod
    def _file(cls, given: Any) -> Any:
        return with_digest(given)

    @model_validator(mode="before")
    @classmethod
    def _code_of_own_router(cls, given: Any) -> Any:
        """Make the code of the user's own router a part of the cell's identity, so that a change of it is seen."""
        if not isinstance(given, dict):
            return given
        code = own.code(str(given.get("router", "")))
        if given.get("own_code", code) != code:
            raise ValueError("own_code is set by itself; it was given, or the code of the own router has changed")
        return given | {"own_code": code} if code else given

    def model_post_init(self, _context: Any) -> None:
        """Refuse what does not go together."""
        if self.top_k > self.experts:
            raise ValueError(f"top_k is {self.top_k}; it must be at most experts, which is {self.experts}")
        if self.width % 8:
            raise ValueError(f"width is {self.width}; it must be a multiple of 8, so that the heads divide it")
        if self.form != "constant" and self.probability > 0.5:
            raise ValueError(
                f"probability is {self.probability}; with form {self.form!r} it must be at most 0.5, since lambda(t) "
                "reaches twice its mean"
            )
