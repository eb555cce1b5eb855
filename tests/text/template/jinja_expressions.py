"""What jinja_parity.py renders: expressions of chat templates (jinja_expressions.txt, one a line), and small templates."""
import pathlib

VARIABLES = {
    "word": "Straße", "text": "  two  words\tand\na line ", "empty": "", "none_value": None, "yes": True, "no": False,
    "number": 7, "negative": -7, "real": 2.5, "big": 9007199254740993, "tiny": 1e-7, "large": 1e22,
    "items": ["b", "A", "c", "a"], "numbers": [3, 1, 2, 10], "nested": [[1, [2]], {"a": None}],
    "mapping": {"b": 1, "a": [1, 2.0, "x"], "items": "own", "C": {"d": True}},
    "people": [{"name": "Zoë", "age": 30, "city": {"name": "Rome"}}, {"name": "adam", "age": 25, "city": {"name": "Oslo"}},
               {"name": "Bea", "age": 30, "city": {"name": "rome"}}, {"name": "Cy", "age": None}],
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <b>\"you\"</b> & 'me'\n日本語 🙂"},
                 {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello", "tool_calls": [
                     {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"x": 1, "y": [True, None], "z": "é"}}}]}],
    "html": "<a href='x'>1 & 2</a>",
}

EXPRESSIONS = pathlib.Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n")[:-1]

TEMPLATES = [
    # white space
    "a\n  {% if yes %}\n  b\n  {% endif %}\nc\n",
    "a\n  {%- if yes -%}\n  b\n  {%- endif -%}\nc\n",
    "a\n  {%+ if yes %}\n  b\n  {%+ endif +%}\nc\n",
    "  {{ 1 }}\n  {{- 2 -}}  \n 3",
    "  {# c #}\n  x {# c -#}  y {#- c #} z\n{#+ c +#}\nw",
    "{#- all -#}", "{# {{ x }} {% y %} #}a", "a\r\nb\rc\n", "\n\na\n\n", "a{% if yes %}b{% endif %}\n\nc",
    "{{ 'x' }}\n{% set a = 1 %}\n{{ a }}\n", "x {% if yes %} y {% endif %} z", "\t{% set a = 1 %}\t{{ a }}",
    "{{- '  a' -}}   b", "a {{- ' b' }}", "{%- set x = 1 -%}\n\n {{- x -}} \n", "   {%- if yes %}\n\n   a{% endif %}",
    "{{ '{%' }}{{ '}}' }}{{ \"{{\" }}{ x }{ %", "{", "{ {", "}} %} #}", "{{ {'a': {'b': 1}}.a.b }}", "{{ {'a': {}}}}",
    # raw
    "{% raw %}{{ x }}{% if %}{# c #}{% endraw %}", "a\n  {%- raw -%}  {{ x }}  {%- endraw -%}  b", "  {% raw %}\n x\n  {% endraw %}\ny",
    "{% raw %}unfinished",
    # set
    "{% set a = 1 %}{% set a = a + 1 %}{{ a }}", "{% set a, b = 1, 2 %}{{ b }}{{ a }}", "{% set a = 1, 2 %}{{ a }}", "{% set a, b = 1 %}",
    "{% set a, (b, c) = 1, (2, 3) %}{{ a + b + c }}", "{% set x %}a{{ 1 }}b{% endset %}{{ x }}{{ x | length }}", "{% set x | upper | trim %} ab {% endset %}[{{ x }}]",
    "{% set ns = namespace(a=1, b=[]) %}{% set ns.a = ns.a + 1 %}{% set ns.c = 'n' %}{{ ns.a }}{{ ns.c }}{{ ns.b }}", "{% set number.a = 1 %}", "{% set nothing.a = 1 %}",
    "{% set ns = namespace() %}{% set ns._x = 1 %}", "{% set ns = namespace() %}{% set ns.a, b = 1, 2 %}{{ ns.a }}{{ b }}", "{% set x = 'a' if no %}[{{ x }}]",
    "{% if yes %}{% set v = 1 %}{% endif %}{{ v }}", "{% if no %}{% set v = 1 %}{% endif %}[{{ v }}]", "{% set true = 1 %}", "{% set a.b.c = 1 %}", "{% set 1 = a %}", "{% set x = %}",
    # if
    "{% if no %}a{% elif number == 7 %}b{% elif yes %}c{% else %}d{% endif %}", "{% if no %}a{% else %}d{% endif %}", "{% if 1, 2 %}t{% endif %}", "{% if %}{% endif %}",
    "{% if yes %}a", "{% endif %}", "{% if yes %}{% else %}{% elif no %}{% endif %}", "{% if not items %}a{% endif %}b", "{% if (yes) %}a{% endif %}", "{% if x is defined and x %}a{% else %}b{% endif %}",
    # for
    "{% for i in numbers %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for i in numbers %}{{ loop.previtem }}-{{ loop.nextitem }};{% endfor %}", "{% for i in numbers %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for i in [1, 1, 2, 2, 1] %}{{ loop.changed(i) }}{% endfor %}", "{% for i in [] %}a{% else %}none{% endfor %}", "{% for i in nothing %}a{% else %}none{% endfor %}", "{% for i in none %}a{% endfor %}", "{% for i in 5 %}a{% endfor %}",
    "{% for a, b in [(1, 2), (3, 4)] %}{{ a }}{{ b }}{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for k, v in mapping.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in mapping %}{{ k }}{% endfor %}", "{% for k, v in mapping | dictsort %}{{ k }}{{ v }}{% endfor %}", "{% for c in 'aé日' %}[{{ c }}]{% endfor %}", "{% for i in numbers if i > 1 %}{{ i }}{{ loop.index }}/{{ loop.length }} {% else %}x{% endfor %}",
    "{% for i in numbers if i > 99 %}{{ i }}{% else %}x{% endfor %}", "{% for i in numbers %}{% if i == 1 %}a{% continue %}{% endif %}{{ i }}{% endfor %}", "{% for i in numbers %}{% if i == 1 %}a{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in numbers %}{% for j in numbers %}{% if j == 1 %}x{% continue %}{% endif %}{% if i == 2 %}y{% break %}{% endif %}{{ i }}{{ j }}{% endfor %}|{% endfor %}", "{% break %}", "{% continue %}", "{% macro m() %}{% break %}{% endmacro %}",
    "{% for i in numbers %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}",
    "{% set x = 0 %}{% for i in numbers %}{% set x = x + i %}{{ x }},{% endfor %}{{ x }}", "{% for i in numbers %}{% set seen = i %}{% endfor %}[{{ seen }}]", "{% for i in numbers %}[{{ before }}]{% set before = i %}{% endfor %}",
    "{% set i = 'o' %}{% for i in numbers %}{{ i }}{% endfor %}{{ i }}", "{% for i in range(3) %}{% for j in range(i) %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}", "{% for i in numbers %}{% set outer = loop %}{% for j in [1] %}{{ outer.index }}{% endfor %}{% endfor %}",
    "{% for m in nested recursive %}{% if m is iterable and m is not string and m is not mapping %}[{{ loop(m) }}]{% else %}{{ m }}{{ loop.depth }}{% endif %}{% endfor %}",
    "{% for i in numbers recursive %}{{ i }}{% if i > 5 %}{{ loop([1, 2]) }}{% endif %}{% endfor %}", "{% for i in 'ab' %}{{ loop }}{% endfor %}", "{% for i in numbers | select('odd') %}{{ i }}{{ loop.last }}{% endfor %}", "{% for i in numbers | map('string') | reverse %}{{ i }}{% endfor %}",
    "{% for i in 1, 2, 3 %}{{ i }}{% endfor %}", "{% for x in numbers[:2] + [9] %}{{ x }}{% endfor %}", "{% for i in numbers %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}", "{% for m in messages %}{% set c = m.content %}{{ m.role }}:{{ c[:3] }} {% endfor %}",
    "{% for i in (yes and numbers) %}{{ i }}{% endfor %}", "{% for in x %}{% endfor %}", "{% for i in numbers %}{{ i }}", "{% for i in range(3) %}{%- if loop.first %}a{%- endif %}{{ i }}\n{% endfor %}",
    "{% set ns = namespace(found=false) %}{% for m in messages[::-1] %}{% if not ns.found and m.role == 'user' %}{% set ns.found = true %}{{ loop.index0 }}{% endif %}{% endfor %}{{ ns.found }}", "{% set it = items | map('upper') %}{{ it | list }}{{ it | list }}",
    "{% for i in numbers %}{{ i }}{% continue %}{% else %}e{% endfor %}", "{% for i in numbers %}{{ i }}{% break %}{% else %}e{% endfor %}", "{% for i in numbers %}{% if i == 2 %}{% break %}{% endif %}{% else %}e{% endfor %}",
    "{% for j in [1, 2] %}{% for i in [] %}{% else %}e{% break %}{% endfor %}{{ j }}{% endfor %}",
    # macros
    "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, c='y') }}{{ m(a=5, c=6) }}", "{% macro m(a, b) %}[{{ a }}{{ b }}{{ b is defined }}]{% endmacro %}{{ m(1) }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(3) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m() %}{% endmacro %}{{ m(1) }}", "{% macro m() %}{% endmacro %}{{ m(x=1) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}", "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m(a) %}x{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}", "{% macro m() %}x{% endmacro %}{{ m() | upper }}{{ m() | length }}{{ m() is string }}", "{% macro fact(n) %}{% if n > 1 %}{{ n }}*{{ fact(n - 1) }}{% else %}1{% endif %}{% endmacro %}{{ fact(5) }}",
    "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}", "{% macro m() %}{{ late }}{% endmacro %}{% set late = 'l' %}{{ m() }}", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{% macro m() %}{% set inner = 1 %}{% endmacro %}{{ m() }}[{{ inner }}]",
    "{% macro outer() %}{% macro inner(x) %}<{{ x }}>{% endmacro %}{{ inner(1) }}{% endmacro %}{{ outer() }}", "{% for i in numbers %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m(x) -%}  a{{ x }}  {%- endmacro %}[{{ m(1) }}]", "{{ m() }}{% macro m() %}x{% endmacro %}", "{% macro m(*a) %}{% endmacro %}",
    "{% macro m(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*[1, 2], c=3) }}{{ m(**{'a': 1, 'b': 2, 'c': 3}) }}{{ m(1, *[2], **{'c': 3}) }}", "{% macro m() %}x{% endmacro %}{{ m }}", "{% macro m(items) %}{% for i in items %}{{ i }}{{ caller(i) if caller }}{% endfor %}{% endmacro %}{{ m([1]) }}{% call(x) m([1, 2]) %}<{{ x }}>{% endcall %}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}in{% endcall %}", "{% macro m(a) %}{{ a }}{{ caller(2, b=3) }}{% endmacro %}{% call(a, b=1) m(0) %}{{ a }}{{ b }}{% endcall %}", "{% call 5 %}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    # macros that call themselves, as Hermes' write types; what is iterated over without being there
    "{%- macro kind(s, known={'string': 'str', 'integer': 'int'}) %}{%- if known[s.type] is defined %}{{- known[s.type] }}{%- elif s.type == 'array' %}{{- 'list[' + kind(s | items) + ']' }}{%- elif s.type is iterable %}{{- 'Union[' }}{%- for t in s.type %}{{- kind({'type': t}) }}{%- if not loop.last %}{{- ',' }}{%- endif %}{%- endfor %}{{- ']' }}{%- else %}{{- 'Any' }}{%- endif %}{%- endmacro %}{%- for name, s in {'a': {'type': 'string'}, 'b': {'type': ['integer', 'null']}, 'c': {'type': 'array', 'items': {'type': 'string'}}, 'd': {'type': 5}, 'e': {}}.items() %}{{- name + ': ' + kind(s) + (', ' if not loop.last else '') }}{%- endfor %}{{ kind({'type': 'x'}, known={'x': 'y'}) }}",
    "{%- macro deep(s) %}{{- 'dict[str, ' + deep(s.more) + ']' if s.more is defined else s.type | default('Any') }}{%- endmacro %}{{ deep({'more': {'more': {'type': 'int'}}}) }}{{ deep({'more': {}}) }}", "{%- for name, s in {'a': {}} | items %}{{- '        ' + name + '(' + s.kind | default('?') + '): ' + s.description | trim }}{%- endfor %}", "{% set t = {'return': {'type': 'x'}} %}{% if t.return is defined %}{{ ' -> ' + t.return.type }}{% endif %}",
    "{% for t in nowhere %}{{ t }}{% else %}none{% endfor %}", "{% for t in none %}{{ t }}{% endfor %}", "{% for k, v in nowhere | items %}{{ k }}{% endfor %}|{{ nowhere | length }}", "{% for t in {}.a %}x{% endfor %}{{ {}.a is iterable }}{{ {'u': 1}[{}.a] is defined }}", "{% for k, v in none | items %}{{ k }}{% endfor %}",
    # with, filter, block, generation, comments, print
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}[{{ a }}]", "{% set a = 0 %}{% with a = 1, b = a %}{{ b }}{% endwith %}{{ a }}", "{% with %}{% set q = 1 %}{{ q }}{% endwith %}[{{ q }}]", "{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}", "{% with (a, b) = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    "{% filter upper %}a{{ 'b' }}{% endfilter %}", "{% filter replace('a', 'x') | trim %} banana {% endfilter %}", "{% for i in numbers %}{% filter upper %}a{% if i == 1 %}{% continue %}{% endif %}{% endfilter %}{{ i }}{% endfor %}", "{% for i in numbers %}{% set x %}a{% if i == 1 %}{% break %}{% endif %}{% endset %}{{ x }}{% endfor %}",
    "{% block b %}x{{ number }}{% endblock %}", "{% block b %}x{% endblock b %}", "{% set top = 1 %}{% for i in [5] %}{% block b %}[{{ i }}{{ top }}]{% endblock %}{% endfor %}", "{% for i in [5] %}{% block c scoped %}[{{ i }}]{% endblock %}{% endfor %}", "{% generation %}a{{ 1 }}{% endgeneration %}b",
    "{% for m in messages %}{% generation %}{{ m.role }}{% set z = 1 %}{% endgeneration %}{% endfor %}[{{ z }}]", "{% for m in messages %}{% generation %}{% continue %}{% endgeneration %}{% endfor %}", "{% print 1, 'a' %}", "{% do 1 %}", "{% nonsense %}", "{% trans %}a{% endtrans %}", "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}",
    "{% from 'x' import y %}", "{% if yes: %}a{% endif %}", "{{ }}", "{{ 1 2 }}", "{{ 'a }}", "{{ (1 }}", "{{ 1) }}", "{% if yes }}", "{{ a.b. }}", "{{ a | }}", "{{ a is }}", "{{ $x }}", "{{ 1 if }}", "{{ {1} }}", "{{ x(a=1, 2) }}", "{{ [1, }}", "{# open", "{% set x = 'a' %",
    "{{ yes and }}", "{{ not }}", "{{ items[] }}", "{{ 'a\\\nb' }}", "{{ 'a\\tb\\x41' }}", "{{ \"\\N{BULLET}\" }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}", "{% set j = joiner(' | ') %}{% for i in numbers %}{{ j() }}{{ i }}{% endfor %}",
    "{% set d = dict(a=1) %}{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}", "{{ raise_exception('a ' ~ number) }}", "{% if no %}{{ raise_exception('x') }}{% endif %}ok", "{% set x = items + ['z'] %}{{ x }}{{ items }}", "{{ items.sort() }}", "{{ mapping.setdefault('x', 1) }}", "{{ self.b() }}{% block b %}x{% endblock %}",
    "{% for k, v in people | groupby('age', default=0) %}{{ k }}:{{ v | map(attribute='name') | join(',') }};{% endfor %}", "{% for row in numbers | batch(2, '-') %}{{ row | join(' ') }};{% endfor %}", "{{ messages[2].tool_calls[0].function | tojson }}", "{%- for t in messages[2].tool_calls %}{{- t.function.name }}({{ t.function.arguments | tojson }}){% endfor %}",
    "{{ 'a' if yes }}{{ 'b' if no }}{{ 'c' if no else }}", "{% set s = 'x' %}{% set s = s ~ '\\n' ~ s %}{{ s }}", "{% if messages[0].role == 'system' %}{% set first, rest = messages[0].content, messages[1:] %}{% endif %}{{ first }}{{ rest | length }}", "{{ (messages | last).role }}{{ messages[-1]['role'] }}",
    "{% set a = [] %}{% for i in numbers %}{% set a = a + [i] %}{% endfor %}{{ a }}", "{% set ns = namespace(l=[]) %}{% for i in numbers %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l }}", "{% set ns = namespace(s='') %}{% for c in 'abc' %}{% set ns.s = c + ns.s %}{% endfor %}{{ ns.s }}",
    "{% autoescape true %}{{ html }}{% endautoescape %}", "{{ ('<b>' | e) + '<i>' }}{{ ('<b>' | safe) + '<i>' }}{{ '<i>' ~ ('<b>' | e) }}", "{{ x.y if x is defined else 'z' }}", "{{ x is defined and x.y }}", "{{ x is not defined or x.y }}", "{%- macro m(d) %}{%- for k in d %}{{ k }}{% if d[k] is mapping %}({{ m(d[k]) }}){% endif %}{%- endfor %}{%- endmacro %}{{ m({'a': {'b': {}}, 'c': 1}) }}",
]
