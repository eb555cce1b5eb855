"""Templates that want more than any rendering may take."""

GROW = "{% set ns = namespace(s='0123456789abcdef') %}{% for i in range(18) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"  # 4 MiB
LIST = "{% set ns = namespace(l=[1]) %}{% for i in range(19) %}{% set ns.l = ns.l + ns.l %}{% endfor %}"


def many(body):
    return GROW + "{% for i in range(99999) %}{% for j in range(99999) %}{% set x = " + body + " %}{% endfor %}{% endfor %}"


BOMBS = {
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "output": "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
    "doubling": "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "repeat": "{{ 'abc' * 99999999999 }}",
    "repeat list": "{{ [1, 2] * 99999999999 }}",
    "repeat empty": "{{ '' * 99999999999 }}{{ [] * 99999999999 }}{{ 'x' * 9999999999 }}",
    "list doubling": "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
    "kept": GROW + "{% set ns.l = [] %}{% for i in range(9999) %}{% set ns.l = ns.l + [ns.s ~ i] %}{% endfor %}",
    "join": GROW + "{{ range(99999) | join(ns.s) }}",
    "join method": GROW + "{{ ns.s.join('x' * 9999) }}",
    "join list": GROW + "{{ ([ns.s] * 9999) | join }}",
    "concatenate": GROW + "{% set x = ns.s ~ ns.s ~ ns.s ~ ns.s %}",
    "format": GROW + "{{ ('%s' * 999) | format(*([ns.s] * 999)) }}",
    "format width": "{{ '%999999999d' % 1 }}",
    "format precision": "{{ '%.999999999d' % 1 }}",
    "format braces": "{{ '{:999999999}'.format(1) }}",
    "format digits": "{{ '{:.999999999f}'.format(1.5) }}",
    "tojson": GROW + "{{ ([ns.s] * 9999) | tojson }}",
    "tojson indent": "{{ [[[[[1]]]]] | tojson(indent=99999999) }}",
    "tojson shared": "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l | tojson }}",
    "string": GROW + "{{ ([ns.s] * 9999) | string }}",
    "string shared": "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
    "in": many("'zz' in ns.s"), "not in": many("'0000' not in ns.s"),
    "in, quadratic": GROW + "{% set n = 'a' * 4000000 %}{% for i in range(99999) %}{% set x = ('a' * 2000000 + 'b') in n %}{% endfor %}",
    "equal": many("ns.s == ns.s ~ ''"), "equal texts": GROW + "{% set o = ns.s[:-1] + 'x' %}{% for i in range(99999) %}{% for j in range(9999) %}{% set x = ns.s == o %}{% endfor %}{% endfor %}",
    "less": GROW + "{% set o = ns.s + 'x' %}{% for i in range(99999) %}{% for j in range(9999) %}{% set x = ns.s < o %}{% endfor %}{% endfor %}",
    "equal shared": "{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.l == ns.m }}",
    "startswith": GROW + "{% set o = ns.s + 'x' %}" + "{% for i in range(99999) %}{% for j in range(9999) %}{% set x = o.startswith(ns.s) %}{% endfor %}{% endfor %}",
    "endswith": many("ns.s.endswith(ns.s)"), "length": many("(ns.s ~ 'x') | length"), "find": many("ns.s.find('zz')"), "rfind": many("ns.s.rfind('z' * 40)"), "count": many("ns.s.count('0')"),
    "upper": many("ns.s | upper"), "title": many("ns.s.title()"), "trim": many("ns.s | trim"), "split": many("ns.s.split('0') | length"), "rsplit": many("ns.s.rsplit('0123456789abcdef0123') | length"),
    "replace": many("ns.s.replace('0', '')"), "replace grows": GROW + "{{ ns.s.replace('', ns.s) }}", "slice": many("ns.s[1:]"), "reverse": many("ns.s | reverse | length"), "item": many("('é' ~ ns.s)[-1]"),
    "iterate": GROW + "{% for c in ns.s %}{% endfor %}", "list of text": GROW + "{{ ns.s | list | length }}", "batch": "{{ [1] | batch(99999999999, 0) | list | length }}", "slices": "{{ [1] | slice(99999999999) | list | length }}",
    "indent": "{{ 'a\nb' | indent(99999999999) }}", "indent lines": "{{ ('\n' * 999999) | indent(9999) }}", "center": "{{ 'a' | center(99999999999) }}", "ljust": "{{ 'a'.ljust(99999999999) }}", "zfill": "{{ 'a'.zfill(99999999999) }}",
    "expandtabs": "{{ ('\t' * 9999).expandtabs(99999999) }}", "wordwrap": GROW + "{{ ns.s | wordwrap(1) | length }}" + "{{ ns.s | wordwrap(1, wrapstring=ns.s) }}", "truncate": many("ns.s | truncate(99)"),
    "sort": LIST + "{% for i in range(99999) %}{% set x = ns.l | sort %}{% endfor %}", "unique": LIST + "{% for i in range(99999) %}{% set x = ns.l | unique | list %}{% endfor %}", "sum of lists": "{{ ([[1, 2, 3]] * 99999) | sum(start=[]) | length }}{{ 'x' * 9999999 }}",
    "map": LIST + "{% for i in range(99999) %}{% set x = ns.l | map('string') | list %}{% endfor %}", "select": LIST + "{% for i in range(99999) %}{% set x = ns.l | select('odd') | list %}{% endfor %}", "contains": LIST + "{% for i in range(99999) %}{% set x = 5 in ns.l %}{% endfor %}",
    "recursion": "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}", "two macros": "{% macro a() %}{{ b() }}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}", "caller": "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}",
    "loop recursion": "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "tree of macros": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}", "macro text": "{% macro m(n) %}{{ 'x' * 1000 }}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
    "nested values": "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}", "itself": "{% set ns = namespace() %}{% set ns.n = ns %}{{ ns }}", "nested dicts": "{% set ns = namespace(l={}) %}{% for i in range(99999) %}{% set ns.l = {'a': ns.l} %}{% endfor %}",
    "many macros": "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% for j in range(99999) %}{% macro m() %}{% endmacro %}{% endfor %}{% endfor %}", "many namespaces": "{% for i in range(99999) %}{% for j in range(99999) %}{% set n = namespace(a=1) %}{% endfor %}{% endfor %}",
    "power": "{{ 9 ** 9 ** 9 ** 9 }}", "digits": "{{ 9" + "9" * 99999 + " }}", "names": "{% set ns = namespace() %}{{ " + "[" * 99999 + " }}", "brackets": "{{ " + "(" * 50000 + "1" + ")" * 50000 + " }}", "nots": "{{ " + "not " * 50000 + "1 }}", "minuses": "{{ " + "-" * 50000 + "1 }}",
    "sum": "{{ 1" + " + 1" * 50000 + " }}", "filters": "{{ 1" + " | abs" * 50000 + " }}", "attributes": "{{ a" + ".a" * 50000 + " }}", "calls": "{{ a" + "()" * 50000 + " }}", "ifs": "{% if 1 %}" * 20000 + "{% endif %}" * 20000, "fors": "{% for i in [1, 2] %}" * 5000, "conditions": "{{ 1" + " if 1 else 1" * 50000 + " }}",
    "long": "{{ 1 }}" * 200000, "dicts": "{{ " + "{1: " * 50000 + " }}", "sets": "{% set x %}" * 30000, "subscripts": "{{ a" + "[a" * 50000 + " }}", "tests": "{{ 1" + " is odd" * 3 + " }}", "generation": "{% generation %}" * 30000, "macros in each other": "{% macro m() %}" * 30000,
}
