"""Neo4j's Northwind: ten CSV files as a shop has them become nodes and relationships.

Entities keep the files' keys behind their kind (``product:11``, ``customer:ALFKI``). The graph is
the usual one, and a little more of the files than Neo4j's own script takes: employees with their
territories, shippers, and times as dates. A product is ``IN_CATEGORY``, not ``PART_OF`` a category:
that type stands for the parts of a document here, and no search follows it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathrag_gds.errors import LoadError

__all__ = ["FILES", "convert", "mend"]

Record = Mapping[str, str]

FILES = (
    "categories",
    "customers",
    "employee-territories",
    "employees",
    "order-details",
    "orders",
    "products",
    "regions",
    "shippers",
    "suppliers",
    "territories",
)
_NOTHING = "NULL"


@dataclass(frozen=True, slots=True)
class _Kind:
    """Entities that are made of the rows of one file.

    Attributes:
        key: Column of the key.
        name: Gives the name of a row.
        columns: What else is kept, with the type of import headers; column names are the file's.
    """

    file: str
    label: str
    key: str
    name: Callable[[Record], str]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Link:
    """Relationships that are made of the rows of one file, from one column to another."""

    file: str
    type: str
    source: tuple[str, str]
    target: tuple[str, str]
    columns: tuple[str, ...] = ()


_COMPANY = ("contactName", "contactTitle", "address", "city", "region", "postalCode", "country")

_KINDS = (
    _Kind(
        "products",
        "Product",
        "productID",
        lambda row: row["productName"],
        (
            "quantityPerUnit",
            "unitPrice:double",
            "unitsInStock:int",
            "unitsOnOrder:int",
            "reorderLevel:int",
            "discontinued:boolean",
        ),
    ),
    _Kind(
        "categories", "Category", "categoryID", lambda row: row["categoryName"], ("description",)
    ),
    _Kind(
        "suppliers",
        "Supplier",
        "supplierID",
        lambda row: row["companyName"],
        (*_COMPANY, "phone"),
    ),
    _Kind(
        "customers",
        "Customer",
        "customerID",
        lambda row: row["companyName"],
        (*_COMPANY, "phone"),
    ),
    _Kind(
        "orders",
        "Order",
        "orderID",
        lambda row: f"Order {row['orderID']}",
        (
            "orderDate:date",
            "requiredDate:date",
            "shippedDate:date",
            "freight:double",
            "shipCity",
            "shipCountry",
        ),
    ),
    _Kind(
        "employees",
        "Employee",
        "employeeID",
        lambda row: f"{row['firstName']} {row['lastName']}",
        ("title", "birthDate:date", "hireDate:date", "city", "country", "notes"),
    ),
    _Kind("shippers", "Shipper", "shipperID", lambda row: row["companyName"], ("phone",)),
    _Kind("territories", "Territory", "territoryID", lambda row: row["territoryDescription"]),
    _Kind("regions", "Region", "regionID", lambda row: row["regionDescription"]),
)

_LINKS = (
    _Link("products", "IN_CATEGORY", ("product", "productID"), ("category", "categoryID")),
    _Link("products", "SUPPLIES", ("supplier", "supplierID"), ("product", "productID")),
    _Link("orders", "PURCHASED", ("customer", "customerID"), ("order", "orderID")),
    _Link("orders", "SOLD", ("employee", "employeeID"), ("order", "orderID")),
    _Link("orders", "SHIPPED_BY", ("order", "orderID"), ("shipper", "shipVia")),
    _Link(
        "order-details",
        "ORDERS",
        ("order", "orderID"),
        ("product", "productID"),
        ("unitPrice:double", "quantity:int", "discount:double"),
    ),
    _Link("employees", "REPORTS_TO", ("employee", "employeeID"), ("employee", "reportsTo")),
    _Link(
        "employee-territories",
        "WORKS_IN",
        ("employee", "employeeID"),
        ("territory", "territoryID"),
    ),
    _Link("territories", "IN_REGION", ("territory", "territoryID"), ("region", "regionID")),
)


def convert(sources: Mapping[str, Path], folder: Path) -> list[Path]:
    """Write a CSV file for each kind of entity, then one for each type of relationship.

    Args:
        sources: By each name of :data:`FILES`, the file.
        folder: Where to write; made if it is not there.

    Returns:
        What was written, in the order in which it loads.

    Raises:
        LoadError: A row has not the cells that the header has, or a cell is no date or truth value.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = {name: _read(path) for name, path in sources.items()}
    written = [_write_kind(kind, rows[kind.file], folder) for kind in _KINDS]
    return written + [_write_link(link, rows[link.file], folder) for link in _LINKS]


def mend(cells: Sequence[str], count: int) -> list[str]:
    """Join what commas without quotes tore apart: ``Viale Dante, 75`` is one cell.

    No cell of these files begins with a blank but the rest of one that held a comma.

    Args:
        count: As many cells as the header has.
    """
    whole = list(cells)
    while len(whole) > count:
        torn = next((i for i, cell in enumerate(whole) if i and cell.startswith(" ")), 0)
        if not torn:
            break
        whole[torn - 1 : torn + 1] = [f"{whole[torn - 1]},{whole[torn]}"]
    return whole


def _read(path: Path) -> list[Record]:
    found: list[Record] = []
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        for cells in lines:
            whole = mend(cells, len(header))
            if len(whole) != len(header):
                raise LoadError(
                    f"a row has {len(header)} cells, this one {len(whole)}.",
                    path=path,
                    line=lines.line_num,
                )
            present = ("" if cell == _NOTHING else cell for cell in whole)
            found.append(dict(zip(header, present, strict=True)))
    return found


def _write_kind(kind: _Kind, rows: Sequence[Record], folder: Path) -> Path:
    prefix = kind.label.lower()
    return _write(
        folder / f"{kind.file}.csv",
        ["id:ID", "name", ":LABEL", *kind.columns],
        [
            [f"{prefix}:{row[kind.key]}", kind.name(row), kind.label, *_cells(row, kind.columns)]
            for row in rows
        ],
    )


def _write_link(link: _Link, rows: Sequence[Record], folder: Path) -> Path:
    (start, start_column), (end, end_column) = link.source, link.target
    return _write(
        folder / f"relationships_{link.type.lower()}.csv",
        [":START_ID", ":TYPE", ":END_ID", *link.columns],
        [
            [
                f"{start}:{row[start_column]}",
                link.type,
                f"{end}:{row[end_column]}",
                *_cells(row, link.columns),
            ]
            for row in rows
            if row[start_column] and row[end_column]
        ],
    )


def _cells(row: Record, columns: Sequence[str]) -> list[str]:
    return [_cell(row[name], type_) for name, _, type_ in (c.partition(":") for c in columns)]


def _cell(value: str, type_: str) -> str:
    """Give a cell as import headers want it: the files write times at midnight, and 0 and 1."""
    if type_ == "date":
        return value.partition(" ")[0]
    if type_ == "boolean":
        return {"0": "false", "1": "true"}.get(value, value)
    return value


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(header)
        lines.writerows(rows)
    return path
