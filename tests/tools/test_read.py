"""Read shows a file as it is, in bounded pieces, and refuses what is not a text or an image."""

import asyncio
import base64
import os
import struct
import zlib
from pathlib import Path

import pytest

from tests.tools.kit import Workshop
from tui_agent.tools.ledger import digest_of
from tui_agent.vocabulary.blocks import ImageBlock


def png(width: int, height: int, padding: int = 0) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        check = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rest = chunk(b"IDAT", zlib.compress(b"\0" * (width + 1))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + rest + bytes(padding)


async def test_lines_have_numbers(shop: Workshop) -> None:
    shop.put("a.txt", "one\n\tdeep\r\nlast")
    assert await shop.text("Read", file_path="a.txt") == "     1\tone\n     2\t\tdeep\n     3\tlast"


async def test_a_line_ends_only_where_a_line_ends(shop: Workshop) -> None:
    shop.put("a.txt", "one\u2028still\x85one\x0cone\ntwo\n")
    assert (await shop.text("Read", file_path="a.txt")).count("\n") == 1


async def test_a_part_by_offset_and_limit(shop: Workshop) -> None:
    shop.put("a.txt", "".join(f"line {n}\n" for n in range(1, 101)))
    text = await shop.text("Read", file_path="a.txt", offset=10, limit=2)
    assert text.startswith("    10\tline 10\n    11\tline 11\n")
    assert "offset=12" in text
    assert "of 100" in text
    assert "beyond its end" in await shop.text("Read", file_path="a.txt", offset=101)


async def test_long_results_stop_at_a_whole_line_and_say_where_to_go_on(shop: Workshop) -> None:
    shop.put("a.txt", "".join(f"{n} {'x' * 90}\n" for n in range(1, 1001)))
    text = await shop.text("Read", file_path="a.txt")
    assert len(text) <= 30_000
    last = text.split("\n\n[")[0].splitlines()[-1]
    number = int(last.split("\t")[0])
    assert last.endswith("x" * 90)
    assert f"offset={number + 1}" in text


async def test_a_long_line_is_cut(shop: Workshop) -> None:
    shop.put("a.txt", "x" * 5000 + "\nend\n")
    text = await shop.text("Read", file_path="a.txt")
    assert "[line cut]" in text
    assert text.endswith("     2\tend")
    assert len(text) < 2200


async def test_an_empty_file_says_so(shop: Workshop) -> None:
    shop.put("a.txt", "")
    assert "empty" in await shop.text("Read", file_path="a.txt")


async def test_what_was_read_is_noted(shop: Workshop) -> None:
    path = shop.put("a.txt", "x\n")
    await shop.text("Read", file_path="a.txt", limit=1)
    assert shop.ledger.digest(path) == digest_of(b"x\n")


async def test_a_file_of_over_ten_megabytes_is_read_in_part(shop: Workshop) -> None:
    path = shop.put("big.txt", "".join(f"{n:08d}\n" for n in range(1, 1_300_001)))
    text = await shop.text("Read", file_path="big.txt", offset=1_250_000, limit=2)
    assert text.startswith("1250000\t01250000\n1250001\t01250001\n")
    assert "beyond" in await shop.text("Read", file_path="big.txt", offset=1_300_001)
    assert shop.ledger.digest(path) is None, "a part is not enough to change the file"


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"\x7fELF\0\0\1", "binary_file"), (bytes(range(1, 32)) * 20, "binary_file")],
    ids=["program", "controls"],
)
async def test_a_binary_file_is_refused(shop: Workshop, data: bytes, code: str) -> None:
    shop.put("a.bin", data)
    assert (await shop.failure("Read", file_path="a.bin")).code == code


async def test_a_folder_a_pipe_and_a_loop_are_refused(shop: Workshop) -> None:
    (shop.folder / "d").mkdir()
    os.mkfifo(shop.folder / "pipe")
    (shop.folder / "loop").symlink_to("loop")
    assert (await shop.failure("Read", file_path="d")).code == "is_directory"
    assert (await shop.failure("Read", file_path=".")).code == "is_directory"
    assert (await shop.failure("Read", file_path="pipe")).code == "not_regular_file"
    assert (await shop.failure("Read", file_path="loop")).code == "loop"
    assert (await shop.failure("Read", file_path="a\0b")).code == "invalid_path"
    assert (await shop.failure("Read", file_path="none")).code == "not_found"


async def test_a_link_put_in_the_way_after_the_judgement_is_not_followed(
    shop: Workshop, tmp_path: Path
) -> None:
    shop.put("d/f.txt", "inside\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("OUTSIDE\n")
    judged = shop.effects("Read", file_path="d/f.txt")
    (shop.folder / "d").rename(shop.folder / "old")
    (shop.folder / "d").symlink_to(outside)
    with pytest.raises(Exception, match="leads elsewhere") as caught:
        await shop.run("Read", {"file_path": "d/f.txt"}, context=shop.context(judged=judged))
    assert "OUTSIDE" not in str(caught.value)


async def test_effects_name_the_real_file(shop: Workshop) -> None:
    path = shop.put("a.txt", "x")
    (shop.folder / "link").symlink_to("a.txt")
    for name in ("a.txt", "./a.txt", "link", str(path), f"../{shop.folder.name}/a.txt"):
        assert shop.effects("Read", file_path=name).reads == {path}


async def test_the_home_folder_but_no_variables(shop: Workshop) -> None:
    home = Path(os.environ["HOME"])
    (home / "n.txt").write_text("home\n")
    assert "home" in await shop.text("Read", file_path="~/n.txt")
    assert (await shop.failure("Read", file_path="$HOME/n.txt")).code == "not_found"


async def test_an_image_is_shown(shop: Workshop) -> None:
    data = png(3, 2)
    shop.put("a.png", data)
    result = await shop.run("Read", {"file_path": "a.png"})
    (image,) = result.content
    assert isinstance(image, ImageBlock)
    assert image.media_type == "image/png"
    assert base64.b64decode(image.data) == data
    assert (result.details["width"], result.details["height"]) == (3, 2)


@pytest.mark.parametrize(
    "data", [png(9000, 50), png(1, 1, padding=4_000_000)], ids=["wide", "heavy"]
)
async def test_an_image_that_no_model_takes_is_refused(shop: Workshop, data: bytes) -> None:
    shop.put("a.png", data)
    assert (await shop.failure("Read", file_path="a.png")).code == "too_large"


GIF = (
    b"GIF89a" + struct.pack("<HHBBB", 5, 4, 0x80, 0, 0) + bytes(6)
    + b"\x21\xf9\x04\0\0\0\0\0" + b"\x2c" + struct.pack("<HHHHB", 0, 0, 5, 4, 0)
    + b"\x02\x02\x4c\x01\0" + b"\x3b"
)  # fmt: skip
JPEG = (
    b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
    + b"\xff\xff\xc0\0\x0b\x08" + struct.pack(">HH", 4, 5) + b"\1\1\x11\0"
    + b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"\x12\xff\0\x34" + b"\xff\xd9"
)  # fmt: skip
WEBP_BODY = b"WEBPVP8L" + struct.pack("<I", 5) + b"\x2f" + struct.pack("<I", 4 | 3 << 14) + b"\0"
WEBP = b"RIFF" + struct.pack("<I", len(WEBP_BODY)) + WEBP_BODY
IMAGES = {"png": png(5, 4), "gif": GIF, "jpeg": JPEG, "webp": WEBP}


@pytest.mark.parametrize("kind", IMAGES)
async def test_each_kind_of_image_is_known_whatever_its_name(shop: Workshop, kind: str) -> None:
    shop.put("picture", IMAGES[kind])
    result = await shop.run("Read", {"file_path": "picture"})
    assert result.details["media_type"] == f"image/{kind}"
    assert (result.details["width"], result.details["height"]) == (5, 4)


@pytest.mark.parametrize("kind", IMAGES)
async def test_an_image_that_is_cut_off_anywhere_is_an_error_with_a_word(
    shop: Workshop, kind: str
) -> None:
    whole = IMAGES[kind]
    for length in range(12, len(whole)):
        shop.put("picture", whole[:length])
        error = await shop.failure("Read", file_path="picture")
        assert error.code == "binary_file"
        assert f"picture is a broken image/{kind} file" in str(error)


async def test_a_damaged_or_empty_picture_is_an_error(shop: Workshop) -> None:
    whole = png(5, 4)
    damaged = whole[:20] + bytes([whole[20] ^ 1]) + whole[21:]
    for data, word in ((damaged, "damaged"), (png(0, 4), "no size"), (GIF[:19] + b";", "picture")):
        shop.put("a.png", data)
        assert word in str(await shop.failure("Read", file_path="a.png"))


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "shift_jis"])
async def test_other_encodings_are_decoded(shop: Workshop, codec: str) -> None:
    shop.put("a.txt", ("日本語のテキストです。これは試験です。\n" * 5).encode(codec))
    text = await shop.text("Read", file_path="a.txt")
    assert text.startswith("     1\t日本語のテキスト")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("Read", {}),
        ("Write", {"content": "x"}),
        ("Edit", {"old_string": "x", "new_string": "y"}),
        ("Grep", {"pattern": "x"}),
        ("Glob", {"pattern": "*"}),
    ],
)
async def test_a_path_that_is_too_long_only_with_its_folder_is_refused(
    shop: Workshop, name: str, more: dict[str, str]
) -> None:
    field = "path" if name in ("Grep", "Glob") else "file_path"
    error = await shop.failure(name, **{field: "x/" * 2040 + "a", **more})
    assert error.code == "name_too_long"
    assert list(shop.folder.iterdir()) == []


async def test_a_file_that_grows_is_read_as_far_as_it_was(shop: Workshop) -> None:
    path = shop.put("a.log", "line\n" * 3_000_000)
    with path.open("a") as file:
        found = asyncio.create_task(shop.text("Read", file_path="a.log", offset=2_999_999))
        while not found.done():
            file.write("more\n")
            file.flush()
            await asyncio.sleep(0.001)
    assert (await found).startswith("2999999\tline\n3000000\tline")
