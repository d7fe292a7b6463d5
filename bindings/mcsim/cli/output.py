"""Where commands write pictures and tables, and how the pictures look."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.base.errors import HostError, McsimError, MissingOutputError
from mcsim.cli.options import (
    Command,
    folder_to_write,
    formats_option,
    style_option,
    table_option,
    with_options,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.config.spec import FigureFormat
    from mcsim.figures.chart import Sheet
    from mcsim.figures.style import Style


@dataclass(frozen=True)
class Picture:
    """A figure with a title and a footer, which are shown on screens.

    Attributes
    ----------
    plot : callable
        Returns the figure without title and footer.
    title, footer : str
    synthetic : bool
        Whether the workload is synthetic, which is added to the title.
    """

    plot: Callable[[], Sheet]
    title: str
    footer: str
    synthetic: bool


@dataclass(frozen=True)
class Output:
    """Values of `output_options`.

    Attributes
    ----------
    folder : Path or None
        Folder of pictures and tables; if None, no file is written.
    formats : sequence of {'png', 'pdf', 'svg'}
    style : {'screen', 'paper'}
    log : bool
        Whether an axis of sizes is logarithmic.
    """

    folder: Path | None
    formats: Sequence[FigureFormat]
    style: Style
    log: bool = True

    def write(self, base: str, picture: Picture, tables: Mapping[str, pa.Table]) -> list[Path]:
        """Write a picture and tables; return the paths of all files.

        Parameters
        ----------
        base : str
            Name of all files, without ending.
        picture : Picture
        tables : mapping of str to pa.Table
            Tables by the end of their names; their format is CSV, or Arrow for ``'.arrow'``.

        Raises
        ------
        MissingOutputError
            If the picture cannot be drawn; the tables are written.
        """
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        failure: Exception | None = None
        try:
            written += self._draw(self.folder / base, picture)
        except HostError:
            raise
        except Exception as error:
            failure = error
        for ending, table in tables.items():
            written.append(self.folder / f"{base}{ending}")
            write_table(written[-1], table, written[-1].suffix)
        if failure is not None:
            kind = "" if isinstance(failure, McsimError) else f"{type(failure).__name__}: "
            raise MissingOutputError(
                f"{self.folder / base}: the picture is missing: {kind}{failure}; written: "
                f"{', '.join(map(str, written)) or 'nothing'}"
            ) from failure
        return written

    def _draw(self, path: Path, picture: Picture) -> list[Path]:
        from mcsim.figures.style import draw_sheet

        return draw_sheet(
            picture.plot,
            path,
            picture.title,
            picture.footer,
            synthetic=picture.synthetic,
            formats=self.formats,
            style=self.style,
        )


def write_table(path: Path, table: pa.Table, form: str = ".csv") -> None:
    """Write a table as CSV or, if the form is ``'.arrow'``, as Arrow; whole or not at all."""
    import pyarrow as pa

    from mcsim.base.files import replacing
    from mcsim.tables.csv import write_csv

    if form == ".csv":
        write_csv(path, table)
        return
    with (
        replacing(path) as temporary,
        pa.OSFile(os.fsencode(temporary), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as file,
    ):
        file.write_table(table)


def picture_options(command: Command) -> Command:
    """Add the options of `output_options`, and the scale of sizes."""
    linear = click.option(
        "--linear", is_flag=True, hidden=True, help="Draw sizes on a linear axis."
    )
    return linear(output_options(command))


def output_options(command: Command) -> Command:
    """Add the options for the printed table, a `form`, and for written files, an `output`."""

    @functools.wraps(command)
    def gathered(
        *,
        folder: Path | None,
        formats: tuple[FigureFormat, ...],
        style: Style,
        linear: bool = False,
        **given: Any,
    ) -> Any:
        return command(output=Output(folder, formats, style, not linear), **given)

    options = [
        click.option(
            "-o",
            "--output",
            "folder",
            metavar="DIR",
            type=click.Path(path_type=Path),
            callback=folder_to_write,
            help="Write a picture and a table into this folder.",
        ),
        formats_option("png", "svg", hidden=True),
        style_option("screen", hidden=True),
    ]
    return table_option(with_options(gathered, options))  # type: ignore[return-value]
