"""The words that this project does not use, and how to find them: ``python -m tests.private_words`` lists them in every package."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "formatbridge"

FOLDERS = ("tests", "benchmarks", "examples")
"""The folders with Python code outside the library."""

REPLACEMENTS = {
    "source, target": "near far",
    "simple, common": "talk talks talking plain usual spoken sound sounds",
    "emit, report, emitted, pending, state": "tell tells told telling untold teller say says said saying",
    "format, same-format, issuer": "home homes homecoming minted mint mints",
    "passthrough, request handler, flow, headers": "passage crossing crossings errand errands legs way ways",
    "deadline": "watch watches due",
    "arguments, raw, value, body, result": "given found made",
    "field paths, notation": "spelling spellings spelled spells",
    "the format's, its, loss rule": "own owns",
    "resolve": "settle settles settled settling",
    "next to, unmodelled field, metadata": "beside leftover leftovers",
    "out-of-range part": "stray strays",
    "delta template, surrogate joiner, long strings": "refrain refrains halves sparse",
    "encode context": "surroundings",
    "after the block was closed, undeliverable": "late",
    "reasoning": "thought thoughts",
    "severity, severe": "weight weigh weighs grave graver gravest",
    "receive, read": "hear hears heard",
    "repair, replace": "mend mends mended",
    "a check": "glance glances",
    "a reader, a caller, no one": "whoever nobody somebody",
}
"""Private words, by the words to write instead."""

IN_IDENTIFIERS = {
    "accumulate, append": "grow grows grown growing",
    "select tools": "offer offers offered",
    "unique names": "distinct",
    "proxy, handler": "carrier",
}
"""Words that are private as names and ordinary in text."""

EXEMPT_PHRASES = (
    r"\bso far\b|\bnot found\b|\bplain[ -]text\b|\btext/plain\b",  # HTTP
    # Errors of vendors, the last without its code spans.
    r"\bdeclaration found\b|\bcall found for\b|\boutput found for\b|\bids were found without\b|\bunexpected\s+found in\b",
    r"\bFound multiple\b|\bbut found\b|\bprovided\. Found\b|\bDuplicate item found with\b",
    r"\bthought signatures?\b|\bthought summar(?:y|ies)\b|\bcalls thoughts\b|\bthought_signature\b",  # Google's documentation
)
EXEMPT_IDENTIFIERS = re.compile(
    r"(?:model_)?not_?found(?:_?error)?|(?:include_?)?thoughts?|.*thoughts?_?(?:signature|token_?count|summary)s?(?:_\w+)?|text_?plain"
    r"|embedding_weight|text_weight|plain_only",
    re.IGNORECASE,
)
"""HTTP terms, names of vendors' fields, and a public name."""

_PROSE = {word: better for better, words in REPLACEMENTS.items() for word in words.split()}
_NAMES = _PROSE | {word: better for better, words in IN_IDENTIFIERS.items() for word in words.split()}
_EXEMPT = re.compile("|".join(EXEMPT_PHRASES), re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CLASS_NAME = re.compile(r"[A-Z]\w+")
_CODE_SPAN = re.compile(r"(`+)(?:(?!\1).)+\1", re.DOTALL)
_QUOTED = re.compile(r'"[^"\n]*"')


def in_prose(text: str) -> list[str]:
    """Return the private words of a text, without those in code spans, quotations and exempt phrases."""
    text = _EXEMPT.sub(" ", _QUOTED.sub(" ", _CODE_SPAN.sub(" ", text)))
    return [_shown(word, _PROSE) for word in _WORDS.findall(text) if word.lower() in _PROSE]


def in_identifier(name: str) -> list[str]:
    """Return the private words that an identifier is composed of."""
    if EXEMPT_IDENTIFIERS.fullmatch(name.strip("_")):
        return []
    return [f"{name}: {_shown(part, _NAMES)}" for part in _PARTS.findall(name) if part.lower() in _NAMES]


def _shown(word: str, table: dict[str, str]) -> str:
    return f"{word!r}, write: {table[word.lower()]}"


def blocks_of(page: str) -> Iterator[str]:
    """Yield the headings, paragraphs, list items and the clauses of table cells of a Markdown page, without code blocks and comments."""
    page = re.sub(r"^```.*?^```$|<!--.*?-->", "\n", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"\]\([^)]*\)", "]", page)
    for block in re.split(r"\n\s*\n|^(?=\s*(?:[-*]|\d+\.)\s|#|\|)", page, flags=re.MULTILINE):
        if block.startswith("|"):
            yield from re.split(r"(?<!\\)\||;", block.strip().strip("|"))
        else:
            yield block


def sentences_of(block: str) -> Iterator[list[str]]:
    """Yield the words of each sentence; a code span is one word."""
    text = re.sub(r"\s+", " ", _CODE_SPAN.sub("code", block))
    for sentence in re.split(r"[.!?][)\"*_]*(?:\s+|$)", text):
        if sentence:
            yield re.findall(r"[\w'%/+-]*\w[\w'%/+-]*", sentence)


def blocks_with_python(page: str) -> Iterable[str]:
    """Return the Python examples of a page."""
    return re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def new_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines, with their lines: classes, functions, parameters, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def prose_in_module(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments, docstrings and messages of a module with their lines.

    A docstring is a string that is a statement. A message is a string of three words or more, and not a list of class names.
    """
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    tree = ast.parse(text)
    statements = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (node in statements or _is_message(node.value)):
            yield node.lineno, node.value


def _is_message(text: str) -> bool:
    words = text.split()
    return len(words) > 2 and not all(_CLASS_NAME.fullmatch(word) for word in words)


def in_module(path: Path) -> list[str]:
    """Return the private words in the name, the identifiers, the comments, the docstrings and the messages of a module."""
    text = path.read_text(encoding="utf-8")
    lines = {name: line for line, name in reversed(list(new_names(ast.parse(text))))} | {path.stem: 1}
    names = [(line, word) for name, line in lines.items() for word in in_identifier(name)]
    prose = [(line, word) for line, block in prose_in_module(text) for word in in_prose(block)]
    return [f"{line}: {word}" for line, word in sorted(names + prose)]


def in_package(package: str) -> list[str]:
    """Return the private words of a package or a module, such as ``streaming`` or ``streaming/sse``, each with its file and line."""
    files = sorted((SOURCE / package).rglob("*.py")) or [SOURCE / f"{package}.py"]
    return [f"{path.relative_to(SOURCE)}:{word}" for path in files for word in in_module(path)]


def in_folder(folder: str) -> list[str]:
    """Return the private words in the modules of a folder of the project, each with its file and line."""
    files = [path for path in sorted((ROOT / folder).rglob("*.py")) if path != Path(__file__)]
    return [f"{path.relative_to(ROOT)}:{word}" for path in files for word in in_module(path)]


def main() -> None:
    """List the private words of every package and of the other folders, with a count for each."""
    for package in sorted({path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}):
        words = in_package(package)
        print(f"{package}: {len(words)}", *words, sep="\n  ")
    for folder in FOLDERS:
        words = in_folder(folder)
        print(f"{folder}: {len(words)}", *words, sep="\n  ")


if __name__ == "__main__":
    main()
