"""Reading rules: from text to a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from trainshed.kube.cel.values import MOST, SyntaxFault, UInt
from trainshed.kube.objects import JSON

MOST_DEPTH: Final = 250
"""How deep a tree may be. Parentheses count fivefold: reading one takes that many more stack frames."""
_PARENTHESES: Final = 5
MOST_TEXT: Final = 50_000


@dataclass(frozen=True, slots=True)
class Node:
    at: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    value: JSON


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    operand: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index(Node):
    operand: Node
    index: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    function: str
    target: Node | None
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """An operator with its operands; chains of `&&` and `||` are one operation."""

    sign: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    entries: tuple[tuple[Node, Node], ...]


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


_TOKEN: Final = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*)+)
    |(?P<float>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}
        |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<quoted>`[-A-Za-z0-9_./ ]+`)
    |(?P<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "package", "return", "var", "void", "while",
})  # fmt: skip
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_LEVELS: Final = (frozenset({"<", "<=", ">", ">=", "==", "!=", "in"}), frozenset("+-"), frozenset("*/%"))


def parse(text: str) -> Node:
    """The tree of an expression; SyntaxFault when it is not CEL."""
    if len(text) > MOST_TEXT:
        words = "expression code point size exceeds limit"
        raise SyntaxFault(f"{words}: size: {len(text)}, limit {MOST_TEXT}", 0)
    parser = _Parser(_tokens(text))
    tree = parser.expression()
    if (rest := parser.peek()).kind != "end":
        raise SyntaxFault(f"Syntax error: mismatched input '{rest.text}' expecting <EOF>", rest.at)
    return tree


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise SyntaxFault(f"Syntax error: token recognition error at: '{text[at]}'", at)
        if found.lastgroup != "space":
            tokens.append(_Token(found.lastgroup, found[0], at))
        at = found.end()
    return [*tokens, _Token("end", "<EOF>", len(text))]


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next += token.kind != "end"
        return token

    def _accept(self, sign: str) -> bool:
        token = self.peek()
        found = token.kind == "sign" and token.text == sign
        self._next += found
        return found

    def _expect(self, sign: str) -> None:
        token = self.peek()
        if not self._accept(sign):
            raise SyntaxFault(f"Syntax error: mismatched input '{token.text}' expecting '{sign}'", token.at)

    def _deeper(self, by: int = 1) -> None:
        self._depth += by
        if self._depth > MOST_DEPTH:
            raise SyntaxFault(f"expression recursion limit exceeded: {MOST_DEPTH}", self.peek().at)

    def expression(self) -> Node:
        self._deeper(_PARENTHESES)
        condition = self._chain("||")
        if self.peek().text == "?" and self.peek().kind == "sign":
            at = self._take().at
            chosen = self._chain("||")
            self._expect(":")
            condition = Operation(at, "?:", (condition, chosen, self.expression()))
        self._depth -= _PARENTHESES
        return condition

    def _chain(self, sign: str) -> Node:
        """`a || b || c` or, one level down, `a && b && c`, as one operation."""
        at = self.peek().at
        operands = [self._operand_of_chain(sign)]
        while self._accept(sign):
            operands.append(self._operand_of_chain(sign))
        return operands[0] if len(operands) == 1 else Operation(at, sign, tuple(operands))

    def _operand_of_chain(self, sign: str) -> Node:
        return self._chain("&&") if sign == "||" else self._binary(0)

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left, depth = self._binary(level + 1), self._depth
        while (token := self.peek()).text in _LEVELS[level] and token.kind in ("sign", "name"):
            self._deeper()
            self._take()
            left = Operation(token.at, token.text, (left, self._binary(level + 1)))
        self._depth = depth
        return left

    def _unary(self) -> Node:
        token = self.peek()
        if token.kind != "sign" or token.text not in "!-":
            return self._member()
        self._take()
        if token.text == "-" and self.peek().kind in ("int", "float"):
            # The least integer has no positive twin, so the sign belongs to the literal.
            return self._members(_number(self._take(), negative=True))
        self._deeper()
        operand = self._unary()
        self._depth -= 1
        return Operation(token.at, f"{token.text}x", (operand,))

    def _member(self) -> Node:
        return self._members(self._primary())

    def _members(self, operand: Node) -> Node:
        depth = self._depth
        while True:
            at = self.peek().at
            if self._accept("."):
                operand = self._field(operand, at)
            elif self._accept("["):
                optional = self._accept("?")
                operand = Index(at, operand, self.expression(), optional)
                self._expect("]")
            else:
                self._depth = depth
                return operand
            self._deeper()

    def _field(self, operand: Node, at: int) -> Node:
        optional = self._accept("?")
        token = self._take()
        if token.kind not in ("name", "quoted"):
            raise SyntaxFault(f"Syntax error: mismatched input '{token.text}' expecting IDENTIFIER", token.at)
        if not optional and self._accept("("):
            return Call(at, token.text, operand, self._listed(")"))
        return Select(at, operand, token.text.strip("`"), optional)

    def _primary(self) -> Node:
        token = self._take()
        match token.kind:
            case "int" | "uint" | "float":
                return _number(token)
            case "string":
                return Literal(token.at, _string(token))
            case "name":
                return self._name(token)
            case "sign" if token.text == "(":
                inner = self.expression()
                self._expect(")")
                return inner
            case "sign" if token.text == "[":
                return ListOf(token.at, self._listed("]"))
            case "sign" if token.text == "{":
                return MapOf(token.at, self._entries())
        raise SyntaxFault(f"Syntax error: mismatched input '{token.text}'", token.at)

    def _name(self, token: _Token) -> Node:
        if token.text in _CONSTANTS:
            return Literal(token.at, _CONSTANTS[token.text])
        if token.text in _RESERVED:
            raise SyntaxFault(f"reserved identifier: {token.text}", token.at)
        if self._accept("("):
            return Call(token.at, token.text, None, self._listed(")"))
        return Name(token.at, token.text)

    def _listed(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._accept(end):
            items.append(self.expression())
            if not self._accept(","):
                self._expect(end)
                break
        return tuple(items)

    def _entries(self) -> tuple[tuple[Node, Node], ...]:
        entries: list[tuple[Node, Node]] = []
        while not self._accept("}"):
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression()))
            if not self._accept(","):
                self._expect("}")
                break
        return tuple(entries)


def _number(token: _Token, *, negative: bool = False) -> Node:
    text = token.text.rstrip("uU") if token.kind == "uint" else token.text
    if token.kind == "float":
        return Literal(token.at, -float(text) if negative else float(text))
    value = int(text, 16 if text.startswith("0x") else 10) * (-1 if negative else 1)
    if not -MOST - 1 <= value <= (2**64 - 1 if token.kind == "uint" else MOST):
        raise SyntaxFault("invalid int literal", token.at)
    return Literal(token.at, UInt(value) if token.kind == "uint" else value)


_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_SIMPLE: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "?": "?", '"': '"', "'": "'", "`": "`",
}  # fmt: skip


def _string(token: _Token) -> str | bytes:
    body = token.text.lstrip("rRbB")
    prefix = token.text[: len(token.text) - len(body)].lower()
    width = 3 if body[:3] in ('"""', "'''") else 1
    inner = body[width:-width]
    text = inner if "r" in prefix else _ESCAPE.sub(lambda found: _unescaped(found[1], token.at), inner)
    return text.encode("utf-8", "replace") if "b" in prefix else text


def _unescaped(escape: str, at: int) -> str:
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    try:
        return chr(int(escape[1:], 16) if escape[0] in "xuU" else int(escape, 8))
    except ValueError:
        raise SyntaxFault(f"unable to unescape string: \\{escape}", at) from None
