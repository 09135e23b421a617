"""Made-up exports of Moodle and Canvas: whose a file is, marks into their tables and back, feedback into their zip."""

import csv
import io
import zipfile

import pytest

from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework.platforms import Owner, feedback_zip, owner_of, with_marks

CANVAS = (
    "Student,ID,SIS Login ID,Section,Set 1 (501),Set 2 (502)\n"
    '    Points Possible,,,,"24.00",24.00\n'
    '"Lovelace, Ada",1234,ada,A,,\n'
    '"O’Neill, Ben",1235,ben,"B ""late""",,11\n'
    "Test Student,1299,,,,\n"
).encode()


@pytest.mark.parametrize(
    ("name", "owner", "file"),
    [
        ("Åsa Öberg_101_assignsubmission_file_set1.ipynb", ("Åsa Öberg", "101"), "set1.ipynb"),
        ("Åsa Öberg_101_assignsubmission_file_", ("Åsa Öberg", "101"), ""),
        ("Åsa Öberg_101_assignsubmission_file", ("Åsa Öberg", "101"), ""),
        ("A_B O’Neill_7_assignsubmission_file_my_set_1.ipynb", ("A_B O’Neill", "7"), "my_set_1.ipynb"),
        ("lovelaceada_1234_56789_set1.ipynb", ("lovelaceada", "1234"), "set1.ipynb"),
        ("lovelaceada_LATE_1234_56789_set1-2.ipynb", ("lovelaceada", "1234"), "set1.ipynb"),
    ],
)
def test_names_of_exports(name, owner, file):
    found, own = owner_of(name)
    assert ((found.name, found.number), own) == (owner, file)
    assert found.prefix.endswith("_")


@pytest.mark.parametrize("name", ["ada", "set1.ipynb", "ada lovelace", "notes_2024.txt", "my_file"])
def test_names_of_no_platform(name):
    assert owner_of(name)[0] is None


def test_canvas_gets_its_table_back():
    filled, missing = with_marks(CANVAS, "Set 1", {"1234": 18.5, "1235": 20, "999": 3})
    assert missing == ["999"]
    assert filled == CANVAS.replace(b",1234,ada,A,,", b",1234,ada,A,18.5,").replace(b'late""",,11', b'late""",20,11')
    rows = list(csv.reader(io.StringIO(filled.decode())))
    assert [len(row) for row in rows] == [6] * 5


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_without_marks_every_byte_stays(end, last, mark):
    text = CANVAS.decode().replace("\n", end)
    table = (mark + (text if last else text.removesuffix(end))).encode()
    assert with_marks(table, "Set 2", {})[0] == table


def test_tables_that_cannot_be_filled_are_refused_in_a_sentence():
    with pytest.raises(TaclError, match="neither Moodle's grading worksheet nor Canvas's gradebook"):
        with_marks(b"a,b\n1,2\n", None, {})
    with pytest.raises(TaclError, match="no single column 'Set 9'; it has Student, ID"):
        with_marks(CANVAS, "Set 9", {})
    with pytest.raises(TaclError, match="a quote is not closed"):
        with_marks(b'Student,ID,"Set', "Set", {})


def test_pages_are_named_as_the_platform_named_the_files(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("well done")
    owner, _ = owner_of("lovelaceada_LATE_1234_56789_set1-2.ipynb")
    data = feedback_zip([(owner, page), (Owner("x", "1", "x_1_assignsubmission_file_"), page)], "set1.html")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["lovelaceada_LATE_1234_56789_set1.html", "x_1_assignsubmission_file_set1.html"]
