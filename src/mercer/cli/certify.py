"""``mercer certify``: whether an expression is a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import _show
from ._errors import CommandError
from ._options import SignedCommand, command, json_option

if TYPE_CHECKING:
    from mercer.certify.verdict import Verdict
    from mercer.kernels.theorem import Theorem

CODES = {"proved": 0, "refuted": 1, "unknown": 3}
STYLES = {"proved": "bold green", "refuted": "bold red", "unknown": "bold yellow"}
LARGEST_DIM = 1000


@command(
    "certify",
    "Is an expression a kernel? Proof, or points that refute it.",
    [
        'mercer certify "2*Gaussian(1) + Polynomial(2, 1)"',
        'mercer certify "3*Gaussian(1) - Gaussian(2)" --dim 1',
        'mercer certify "exp(-norm(x - z)**2.05)"',
        'mercer certify "min(x, z)" --dim 1 --json',
    ],
    SignedCommand,
)
@click.argument("expression")
@click.option(
    "--dim", type=click.IntRange(1, LARGEST_DIM), metavar="NUMBER",
    help="Number of features of the points. For kernels: every number if not given; for functions: 2.",
)  # fmt: skip
@json_option
@click.pass_context
def certify(ctx: click.Context, expression: str, dim: int | None, as_json: bool) -> None:
    """Say whether EXPRESSION is a positive semi-definite kernel, with a proof or with points that refute it.

    EXPRESSION is a kernel such as "Gaussian(2) * Linear()", put together with + - * / **, exp(k), k.normalize() and
    k.on(columns); or a function of two points x and z such as "dot(x, z)**2", with x[0], norm, sum, exp, min and so on.

    The exit code tells the answer: 0 proved, 1 refuted, 3 unknown, 2 if the expression cannot be read.
    """
    verdict, form, dim = _decide(expression, dim)
    answer = type(verdict).__name__.lower()
    if as_json:
        _show.as_json({"expression": expression, "form": form, "dim": dim, "verdict": answer, **_describe(verdict)})
    else:
        first, _, rest = verdict.explain().partition("\n")
        out = _show.console()
        for piece in _show.wrap_line(first, out.width):
            out.print(piece, style=STYLES[answer], soft_wrap=True)
        _show.paragraph(rest)
    ctx.exit(CODES[answer])


def _decide(expression: str, dim: int | None) -> tuple[Verdict, str, int | None]:
    import mercer
    from mercer.kernels.functions import PointFunction, parse_expression

    found = parse_expression(expression)
    if not isinstance(found, PointFunction):
        return found.certificate(dim=dim), "kernel", dim
    dim = max(2, found.least_dim) if dim is None else dim
    if dim < found.least_dim:
        raise CommandError(f'"{expression}" needs points with {found.least_dim} features, but --dim is {dim}')
    if found.is_vector and dim > 1:
        raise CommandError(
            f'"{expression}" has {dim} values, one for each feature; put them together with sum(…), prod(…) or '
            "dot(x, z), or use --dim 1"
        )
    return mercer.certify(found, dim=dim), "function", dim


def _describe(verdict: Any) -> dict[str, Any]:
    from mercer.certify.verdict import Proved, Refuted

    details: dict[str, Any] = {"headline": verdict.headline(), "explanation": verdict.explain()}
    if isinstance(verdict, Proved):
        return details | {"proof": _list_proof(verdict.proof)}
    if isinstance(verdict, Refuted):
        return details | {
            "reason": verdict.reason, "check": verdict.check, "points": list(verdict.points), "value": verdict.value,
            "coefficients": verdict.coefficients, "error_bound": verdict.error_bound, "gram": verdict.gram,
        }  # fmt: skip
    return details | {"tried": verdict.tried}


def _list_proof(theorem: Theorem) -> dict[str, Any]:
    return {"claim": theorem.claim, "because": theorem.because, "from": [_list_proof(part) for part in theorem.parts]}
