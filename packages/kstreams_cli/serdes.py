"""`kstreams serdes`: list the serdes that commands accept."""

from __future__ import annotations

from rich.markup import escape

from kstreams.errors import PluginError
from kstreams.quoting import text_of
from kstreams_admin.values import printable
from kstreams_cli.consoles import new_table, stdout
from kstreams_cli.formats import offered, offered_names

__all__ = ("list_serdes",)


def list_serdes() -> None:
    """List the serdes that --key-serde, --value-serde, --key and --value accept.

    Commands read and print texts, numbers and booleans as plain text, other values as JSON.

    MODULE:SERDE is a custom serde: a module in the current directory and a name in the module.
    MODULE may be a file, such as jobs/orders.py. Values of custom serdes are printed as JSON. They
    can be typed as JSON if the serde is for a dataclass.

    Example:
        kstreams serdes
        kstreams topics tail orders --value-serde protobuf:orders.binpb#shop.Order
        kstreams topics tail orders --value-serde registry --registry http://localhost:8081
        kstreams topics produce orders --value-serde shop.serdes:ORDERS
    """
    table = new_table("serde", "values")
    for name in offered_names():
        try:
            found = offered(name)
        except (PluginError, ImportError) as exc:
            table.add_row(f"[dim]{escape(name)}[/]", f"[dim]{escape(printable(text_of(exc)))}[/]")
            continue
        if found is not None:
            table.add_row(f"[cyan]{escape(found.usage)}[/]", escape(found.about))
    table.add_row("[cyan]MODULE:SERDE[/]", "custom serde in a Python module")
    stdout().print(table)
