"""A name or type that the code has wrong, as compilers and interpreters say it, and what to do about it.

The fields of an advice are the groups of its pattern; `place` is where the output says that it is, or nothing.
"""

from __future__ import annotations

from typing import Final

_EXPORT: Final = "{name} is not exported there: check its spelling, or export it from the module{place}."
_TYPES: Final = "Make the types fit{place}: {given} is given where {wanted} is expected."
_NAME: Final = "Check the spelling of {name}, and import or define it{place}."
_QUOTED: Final = "['\"`‘“]"
_UNQUOTED: Final = "[^'\"`’”\n]"
# A name or type that the code has wrong, as compilers and interpreters say it, and what helps.
NAMED: Final[tuple[tuple[str, str], ...]] = (
    (
        rf"(?i)has no exported member(?: named)? {_QUOTED}(?P<name>{_UNQUOTED}{{1,80}})",
        _EXPORT,
    ),
    (
        rf"(?i)does not provide an export named {_QUOTED}?(?P<name>[\w$]{{1,80}})",
        _EXPORT,
    ),
    (
        rf"(?i)cannot import name {_QUOTED}(?P<name>{_UNQUOTED}{{1,80}}){_QUOTED}?.? from (?:partially initialized module )?{_QUOTED}(?P<module>{_UNQUOTED}{{1,80}})",
        "{module} does not export {name}: check its spelling, its version, or a circular import{place}.",
    ),
    (
        rf"(?i)type {_QUOTED}(?P<given>{_UNQUOTED}{{1,80}}).? is not assignable to (?:parameter of )?type {_QUOTED}(?P<wanted>{_UNQUOTED}{{1,80}})",
        _TYPES,
    ),
    (
        rf"(?i)expected {_QUOTED}(?P<wanted>{_UNQUOTED}{{1,80}}).?, (?:found|got|actual) {_QUOTED}(?P<given>{_UNQUOTED}{{1,80}})",
        _TYPES,
    ),
    (
        r"(?i)incompatible types: (?P<given>[\w.<>\[\], ]{1,60}?) cannot be converted to (?P<wanted>[\w.<>\[\]]{1,60})",
        _TYPES,
    ),
    (
        rf"(?i)expression has type {_QUOTED}(?P<given>{_UNQUOTED}{{1,80}}).?, (?:variable|argument|target|base class \S+) (?:has type|\S+ has type|defined the type as) {_QUOTED}(?P<wanted>{_UNQUOTED}{{1,80}})",
        _TYPES,
    ),
    (
        rf"(?i)incompatible type {_QUOTED}(?P<given>{_UNQUOTED}{{1,80}}).?; expected {_QUOTED}(?P<wanted>{_UNQUOTED}{{1,80}})",
        _TYPES,
    ),
    (
        r"(?i)cannot use .{1,60}\((?:variable|value|constant)[^)]{0,40} of (?:\w+ )?type (?P<given>[^)\n]{1,60})\) as (?P<wanted>\S{1,60}) value",
        _TYPES,
    ),
    (
        rf"(?i)property {_QUOTED}(?P<name>{_UNQUOTED}{{1,80}}).? does not exist on type {_QUOTED}(?P<type>{_UNQUOTED}{{1,80}})",
        "{type} has no {name}: check its spelling, or add it to the type{place}.",
    ),
    (
        rf"(?i){_QUOTED}(?P<type>{_UNQUOTED}{{1,80}}).? (?:object )?has no (?:attribute|member|method|field|property)(?: named)? {_QUOTED}(?P<name>{_UNQUOTED}{{1,80}})",
        "{type} has no {name}: check its spelling, or define it{place}.",
    ),
    (
        rf"(?i)(?:cannot find (?:name|symbol|value|type|function)|use of undeclared (?:identifier|variable)|unresolved reference:?|undefined name"
        rf"|undefined (?:local )?variable(?: or method)?|undefined function|name|undeclared identifier:?) {_QUOTED}(?P<name>{_UNQUOTED}{{1,80}})",
        _NAME,
    ),
    (
        r"(?i)(?:\bundefined|unresolved reference|unbound value|not in scope): (?P<name>[\w.:$]{1,80})|\b(?P<name2>[\w$]{1,80}) is not defined\b",
        _NAME,
    ),
)
