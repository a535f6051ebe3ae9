"""Estimators with kernels among their parameters: ``set_params(kernel__length_scale=2.0)`` on immutable kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from mercer.kernels.value import Value
from mercer.messages import refuse_parameter, refuse_unknown

# What a fit leaves on an estimator is annotated on its class, so that readers, type checkers and model files know it:
# as it is, ``expansion_: Expansion``, or as ``loo_errors_: Annotated[np.ndarray, SOMETIMES]`` if only some fits set it.
SOMETIMES = "set by some fits only"


class KernelParams:
    """A mixin, placed before ``BaseEstimator``, that rebuilds a kernel when one of its parameters is set.

    Kernels are immutable, so where scikit-learn would call ``kernel.set_params(length_scale=2.0)`` the estimator gets
    a new kernel instead.  Any parameter that holds a kernel is treated so, whatever its name, at any depth.

    Examples
    --------
    >>> from mercer.features import Nystroem
    >>> from mercer.kernels import Gaussian, Linear
    >>> Nystroem(Gaussian() + Linear()).set_params(kernel__k1__length_scale=2.0).kernel
    Gaussian(length_scale=2.0) + Linear()
    """

    if not TYPE_CHECKING:  # for which constructors are as each class writes them

        def __new__(cls, *args: Any, **params: Any) -> Self:
            """Refuse names of parameters that there are none of, before Python does."""
            refuse_unknown(cls.__name__, cls.__init__, params)
            return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` adds those of kernels, as ``kernel__parameter``."""
        return dict(super().get_params(deep=deep))  # type: ignore[misc]

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, including those of kernels, as ``kernel__parameter``."""
        own = self.get_params(deep=False)
        inside: dict[str, dict[str, Any]] = {}
        plain: dict[str, Any] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            holder = params.get(name, own.get(name))
            if rest and isinstance(holder, Value):
                inside.setdefault(name, {})[rest] = value
            elif rest and name in own and not hasattr(holder, "set_params"):
                raise ValueError(
                    f"{type(self).__name__}: cannot set {key}, because {name} is {holder!r}, which has no parameters; "
                    f"give it a kernel first, for example {name}=Gaussian()"
                )
            elif name not in own:
                raise ValueError(f"Invalid parameter: {refuse_parameter(type(self).__name__, name, own)}")
            else:
                plain[key] = value
        super().set_params(**plain)  # type: ignore[misc]
        for name, changes in inside.items():
            setattr(self, name, getattr(self, name).with_params(**changes))
        return self
