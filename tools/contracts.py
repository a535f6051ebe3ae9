"""Contracts of the import linter that it lacks: no cycle of modules, and nothing private from another package."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application import contract_utils


class AcyclicModules(Contract):
    """No circle of modules that import each other, imports inside functions counted."""

    type_name = "acyclic_modules"

    ignore_imports = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        contract_utils.remove_ignored_imports(graph, self.ignore_imports, contract_utils.AlertLevel.ERROR)
        imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
        try:
            TopologicalSorter(imports).prepare()
        except CycleError as error:
            return ContractCheck(kept=False, metadata={"cycle": error.args[1]})
        return ContractCheck(kept=True)

    def render_broken_contract(self, check: ContractCheck) -> None:
        output.print_error(" imports ".join(reversed(check.metadata["cycle"])))


class NothingPrivate(Contract):
    """No module whose name begins with an underscore is imported by another package."""

    type_name = "nothing_private"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = sorted(
            (module, imported)
            for module in graph.modules
            for imported in graph.find_modules_directly_imported_by(module)
            if module.split(".")[:2] != imported.split(".")[:2]
            and any(part.startswith("_") for part in imported.split(".")[2:])
        )
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for module, imported in check.metadata["found"]:
            output.print_error(f"{module} imports {imported}")
