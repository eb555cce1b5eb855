"""What jinja_parity.py renders: expressions of chat templates, one a line, and small templates."""

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

EXPRESSIONS = r"""
1 + 2 * 3 - 4
(1 + 2) * 3
7 / 2
6 / 3
7 // 2
-7 // 2
7 // -2
7.5 // 2
-7.5 // 2
7 % 3
-7 % 3
7 % -3
(0 - 1) % 3
5.5 % 2
-5.5 % 2
2 ** 10
2 ** -1
2 ** 0.5
2 ** 3 ** 2
-2 ** 2
- 3
+3
--3
true + 1
1_000 + 0x1F + 0o17 + 0b101
1e3
1.5e-3
12.0
1.0
100000000000000000.0
1e16
1e15
123456789.123456789
0.1 + 0.2
1 / 3
9223372036854775807
9223372036854775807 + 1
big
tiny
large
1e100
-0.0
3.14159 | round(2)
2.5 | round
3.5 | round
-2.5 | round
2.675 | round(2)
1234 | round(-2)
1250 | round(-2)
7 | round
2.1 | round(method='ceil')
2.9 | round(0, 'floor')
2.123 | round(2, 'ceil')
-3 | abs
-3.5 | abs
true | abs
'a' ~ 1 ~ none ~ true ~ 2.0 ~ [1]
'a' + 'b'
'ab' * 3
3 * 'ab'
'ab' * -1
[1, 2] + [3]
[0] * 3
(1,) + (2, 3)
(1,)
()
(1, 2)
[]
{}
{'a': 1, 2: 'b', none: [true]}
[1, [2.5, 'x', none, True], {'k': 'v'}, (1,)]
['a\'b', 'a"b', 'a\'"b', 'a\\b', 'tab\there', 'line\nbreak', 'é', '\x01', '\u200b', '\U0001f600']
none
true
False
None
1 == 1.0
1 == true
'1' == 1
none == none
[1, 2] == [1, 2]
{'a': 1} == {'a': 1.0}
(1, 2) == [1, 2]
1 != 2
1 < 2 < 3
1 < 3 < 2
3 > 2 >= 2 == 2
'a' < 'b'
'Z' < 'a'
'é' > 'z'
[1, 2] < [1, 3]
[1] < [1, 2]
1 < 1.5
not 1 == 2
not not 1
1 and 2
0 and 2
0 or 'x'
'' or none or []
1 or undefined_name.x
yes and not no
'a' in 'cat'
'x' not in 'cat'
1 in [1, 2]
'a' in {'a': 1}
'b' not in {'a': 1}
3 in range(5)
none in [none]
'' in ''
'x' if yes else 'y'
'x' if no else 'y'
'x' if no
('x' if no) is defined
'a' if no else 'b' if no else 'c'
1 if undefined_name else 2
undefined_name
undefined_name is defined
undefined_name is undefined
undefined_name | default('d')
undefined_name | d('d')
none | default('x')
none | default('x', true)
'' | default('x', boolean=true)
'' | default('x')
0 | default(5)
mapping.missing | default('m')
mapping.missing is defined
mapping.missing
undefined_name == undefined_name
undefined_name | length
undefined_name | list
undefined_name | string
undefined_name | upper
undefined_name | join(',')
undefined_name in [1]
1 in undefined_name
not undefined_name
undefined_name ~ 'x'
none.x is defined
'abc'.x is undefined
(1).x is undefined
undefined_name.x
undefined_name['x']
undefined_name + 1
undefined_name < 1
undefined_name()
undefined_name | int
undefined_name | items | list
none.x.y
'abc'[0]
'abc'[-1]
'abc'[5] is undefined
'äöü'[1]
'äöü'[-1]
'日本語'[::-1]
'abcdef'[1:3]
'abcdef'[:-2]
'abcdef'[-3:]
'abcdef'[::2]
'abcdef'[::-1]
'abcdef'[4:1:-1]
'abcdef'[10:]
'abcdef'[-100:2]
'äbçdé'[1:4]
numbers[0]
numbers[-1]
numbers[9] is defined
numbers[1:]
numbers[:1]
numbers[::-1]
numbers[-2:]
numbers[:]
(1, 2, 3)[1:]
range(10)[2:8:3]
range(10)[-1]
mapping.b
mapping['b']
mapping.a[2]
mapping['a'].0
mapping.C.d
mapping.items is callable
mapping['items']
mapping.items() | list
mapping.keys() | list
mapping.values() | list
mapping.keys()
mapping.values()
mapping.items()
mapping.get('b')
mapping.get('zz')
mapping.get('zz', 3)
mapping | length
mapping | list
mapping | items | list
mapping.pop('b')
mapping.update({'x': 1})
items.append('x')
mapping.__class__
''.__class__.__mro__
'b' in mapping.keys()
1 in mapping.values()
mapping | dictsort
mapping | dictsort(true)
mapping | dictsort(reverse=true)
{'b': 2, 'a': 3, 'C': 1} | dictsort(by='value')
{'b': 1, 'a': 2}.items() | sort | list
dict(a=1, b=2)
dict([('a', 1)])
dict({'a': 1}, c=3)
range(3) | list
range(1, 10, 3) | list
range(5, 0, -2) | list
range(3)
range(1, 4)
range(0, 4, 2)
range(0) | list
range(1000000)
word | length
word | upper
word | lower
word | count
'ß' | upper
'ŉ' | upper
'İ' | lower | length
'ΑΣ' | lower
'ΑΣΑ' | lower
'ﬁx' | upper
'ǆ' | title
'ärger über' | title
'hello world-wide (web) [x] {y} <z>' | title
"it's o'neil" | title
"it's o'neil".title()
'ärger ÜBER' | capitalize
'ß' | capitalize
'abc'.capitalize()
'aBc'.swapcase()
'Straße'.casefold()
'ABC'.lower()
'abc'.upper()
'  x  ' | trim
'xxaxx' | trim('x')
'xyaxy'.strip('xy')
' a '.lstrip()
' a '.rstrip()
'aab'.lstrip('a')
'baa'.rstrip('a')
'\u3000x\u00a0'.strip() | length
text.split()
text.split(' ')
text.split(none, 1)
text.rsplit(none, 1)
' a  b '.split()
' a b '.split() | length
'a,b,,c'.split(',')
'a,b,c'.split(',', 1)
'a,b,c'.rsplit(',', 1)
'a.b'.rsplit('.', 1)
'abc'.split('b', 1)
'a--b--c'.split('--')
'a--b--c'.rsplit('--', maxsplit=1)
''.split()
''.split(',')
'abc'.split('')
'a\nb\r\nc\x0bd'.splitlines()
'a\nb\n'.splitlines(true)
'a=b=c'.partition('=')
'a=b=c'.rpartition('=')
'abc'.partition('x')
'abc'.rpartition('x')
'abc'.replace('b', 'x')
'aaa'.replace('a', 'b', 2)
'abc'.replace('', '-')
'äö'.replace('', '-')
'abc' | replace('b', 'x')
'aaa' | replace('a', 'b', 1)
'a1' | replace(1, 2)
123 | replace(2, 'x')
'abc'.startswith('a')
'abc'.startswith(('x', 'a'))
'abc'.startswith('b', 1)
'abc'.endswith('c')
'abc'.endswith(('x', 'bc'))
'abc'.endswith('b', 0, 2)
'abc'.startswith('')
'banana'.find('an')
'banana'.rfind('an')
'banana'.find('x')
'banana'.find('an', 2)
'bänana'.find('nan')
'banana'.index('n')
'banana'.index('x')
'banana'.count('a')
'banana'.count('ana')
'banana'.count('')
'abc'.removeprefix('a')
'abc'.removesuffix('c')
'abc'.removesuffix('x')
'abc'.ljust(5) ~ '|'
'abc'.rjust(5, '.')
'abc'.center(6, '*')
'ab'.center(5, '*')
'42'.zfill(5)
'-42'.zfill(5)
'a\tb'.expandtabs(4)
', '.join(['a', 'b'])
''.join(['a'])
', '.join([1])
'-'.join('abc')
'{} and {}'.format(1, 'b')
'{0} {1} {0}'.format('a', 'b')
'{x} {y:>5}|'.format(x=1, y='z')
'{:05.1f}|{:>8}|{:<6}|{:^7}|'.format(3.14159, 'ab', 'cd', 'ef')
'{:,}'.format(1234567)
'{:x} {:#X} {:b} {:o}'.format(255, 255, 5, 8)
'{!r}'.format('a')
'{{}}'.format()
'{0[0]} {0[1]}'.format([1, 2])
'{:%}'.format(0.25)
'{:.3g} {:e}'.format(1234.5, 0.00012)
'{}'.format(none)
'{:*^9}'.format('é')
'%s is %d' | format('a', 5)
'%s' % 'x'
'%s-%s' % (1, 2)
'%05d|%-5s|%5.2f|%x|%r|%%' % (42, 'ab', 3.14159, 255, 'q')
'%(a)s %(b)03d' % {'a': 1, 'b': 2}
'%(a)s' | format(a='x')
'%e %g %G' % (12345.678, 0.0001, 1e20)
'%c%c' % ('a', 98)
'%+d % d' % (3, 4)
'%s %s' % ('a',)
'%s' % ('a', 'b')
'%i' % 3.9
'abc'.isalpha()
'abc1'.isalpha()
'äé'.isalpha()
'12'.isdigit()
'²'.isdigit()
'٣'.isdecimal()
'½'.isnumeric()
'五'.isnumeric()
'a1'.isalnum()
' \t'.isspace()
''.isspace()
'Abc'.istitle()
'ABC1'.isupper()
'abc1'.islower()
'1'.islower()
'a_1'.isidentifier()
'1a'.isidentifier()
'abc'.isascii()
'é'.isascii()
'a\n'.isprintable()
'5' | int
'12345678901' | int
' 42 ' | int
'-7' | int
'3.9' | int
'x' | int
'x' | int(9)
'0x1F' | int(base=16)
'1010' | int(0, 2)
'1_000' | int
3.99 | int
-3.99 | int
true | int
none | int
'1e3' | int
'1.5' | float
'x' | float
'x' | float(2.0)
'inf' | float
3 | float
none | float
5 | string
none | string
[1] | string
'é日🙂' | length
[1, 2] | length
'abc' | first
'abc' | last
[] | first
[] | last
numbers | first
numbers | last
numbers | min
numbers | max
['b', 'A'] | min
['b', 'A'] | max(case_sensitive=true)
[] | max
people | max(attribute='name')
numbers | sum
people[:3] | sum(attribute='age')
[1, 2] | sum(start=10)
[0.1, 0.2] | sum
[[1], [2]] | sum(start=[])
items | sort
items | sort(case_sensitive=true)
items | sort(reverse=true)
numbers | sort
[3, 1, 2] | sort
['b', 'A', 'c'] | sort
[1, 'a'] | sort
people[:3] | sort(attribute='age') | map(attribute='name') | list
people[:3] | sort(attribute='age,name') | map(attribute='name') | list
people[:3] | sort(attribute='city.name') | map(attribute='name') | list
items | reverse | list
'abc' | reverse
items | unique | list
['a', 'A', 'b'] | unique | list
['a', 'A', 'b'] | unique(true) | list
people | map(attribute='age') | unique | list
items | join
items | join(', ')
people | join('; ', attribute='name')
[1, none, true] | join('-')
mapping | join('|')
items | join(d='+')
items | map('upper') | list
items | map('upper') | join(',')
numbers | map('string') | list
people | map(attribute='name') | list
people | map(attribute='city.name') | list
people | map(attribute='zz', default='none') | list
people | map(attribute='city.name', default='?') | list
[[1, 2], [3]] | map('first') | list
[[1, 2], [3]] | map(attribute=0) | list
['a'] | map('replace', 'a', 'b') | list
['1', 'x'] | map('int', default=5) | list
[1, 2] | map('nonsense') | list
[[2, 1], [4, 3]] | map('sort') | map('join', '<') | list
numbers | select('odd') | list
numbers | select('even') | list
numbers | select('divisibleby', 5) | list
numbers | select('>', 2) | list
numbers | select('in', [1, 2]) | list
[0, 1, '', 'a', none] | select | list
[0, 1, '', 'a', none] | reject | list
numbers | reject('odd') | list
[1, 'a', none, 2.0, true] | select('string') | list
[1, 'a', none, 2.0, true] | select('number') | list
[1, 'a', none, 2.0, true] | select('none') | list
[1, 'a', none, 2.0, true] | select('integer') | list
['a', 'b'] | select('equalto', 'a') | list
people | selectattr('age') | map(attribute='name') | list
people | selectattr('age', 'equalto', 30) | map(attribute='name') | list
people | selectattr('age', 'none') | map(attribute='name') | list
people | selectattr('city', 'undefined') | map(attribute='name') | list
people | selectattr('city.name', 'defined') | map(attribute='name') | list
people | selectattr('name', 'in', ['Bea', 'Cy']) | map(attribute='name') | list
people | rejectattr('age') | map(attribute='name') | list
people | rejectattr('age', '==', 30) | map(attribute='name') | list
people | rejectattr('city', 'defined') | map(attribute='name') | list
messages | selectattr('tool_calls', 'defined') | list | length
messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | first
messages | rejectattr('role', 'equalto', 'system') | list | length
(messages | selectattr('role', 'equalto', 'zz')) is defined
'yes' if messages | selectattr('role', 'equalto', 'zz') else 'no'
numbers | select('odd') | length
numbers | map('string') | sort
people | groupby('age', default=0) | length
people[:3] | groupby('age') | map('first') | list
people[:3] | groupby('city.name') | map(attribute='grouper') | list
people[:3] | groupby('city.name', case_sensitive=true) | map(attribute='grouper') | list
(people[:3] | groupby('age'))[0].list | length
[{'a': 1}] | groupby('a')
numbers | batch(3) | list
numbers | batch(3, 0) | list
numbers | slice(3) | list
numbers | slice(3, 'x') | list
numbers | list
'abc' | list
mapping.C | items | list
'a b c' | wordcount
'a-b c_d é' | wordcount
'foo bar baz qux' | truncate(9)
'foo bar baz qux' | truncate(9, true)
'foo bar baz qux' | truncate(11)
'foo bar baz qux' | truncate(9, true, '..', 0)
'foo bar baz qux' | truncate(9, end='', leeway=0)
'foo' | center(9) ~ '|'
'a\nb\n\nc' | indent
'a\nb\n\nc' | indent(2, true)
'a\nb\n\nc' | indent(2, blank=true)
'a\nb' | indent('> ')
'a\nb' | indent(width=1, first=true)
'a' | indent(0)
'The quick brown fox jumps over the lazy dog' | wordwrap(10)
'The quick brown-fox jumps' | wordwrap(9)
'Supercalifragilistic word' | wordwrap(6)
'Supercalifragilistic word' | wordwrap(6, false)
'a b\n\nc d' | wordwrap(3)
'one two' | wordwrap(4, wrapstring='|')
'well-known self-made' | wordwrap(8, break_on_hyphens=false)
html | escape
html | e
html | forceescape
html | safe
html | striptags
html | escape is escaped
'x' is escaped
'a b/ü?' | urlencode
{'a': 'b c', 'd': '&'} | urlencode
{'a': 'x', 'b': none, 'c': '<'} | xmlattr
1 | filesizeformat
1500 | filesizeformat
1000000 | filesizeformat
1048576 | filesizeformat(true)
300 | filesizeformat
{'a': 1} | tojson
{'a': [1, 2.0, none, true, 'é<>&\'"\n\t\x01\u2028']} | tojson
{'b': 1, 'a': {'c': []}} | tojson(indent=2)
{'b': 1, 'a': {}} | tojson(sort_keys=true)
[1, [2]] | tojson(indent=4)
{'a': 1, 'b': 2} | tojson(separators=(',', ':'))
'é🙂' | tojson(ensure_ascii=true)
[] | tojson(indent=2)
{1: 2, none: 3, true: 4, 1.5: 5} | tojson
(1, 2) | tojson
1e100 | tojson
0.1 | tojson
'text' | tojson
undefined_name | tojson
messages | tojson
messages[2].tool_calls[0] | tojson(indent=4)
{'a': 1} | string
nested
mapping
messages[1]
mapping.a
people[0]
[1, 2] | pprint
mapping | attr('b') is undefined
mapping | attr('get') is callable
5 is odd
5 is even
4 is divisibleby 2
4 is divisibleby(3)
none is none
none is not none
1 is integer
1.0 is integer
true is integer
1.0 is float
true is number
true is boolean
true is true
1 is true
false is false
0 is false
'a' is string
'a' is sequence
[] is sequence
{} is sequence
(1,) is sequence
range(2) is sequence
1 is sequence
none is sequence
{} is mapping
[] is mapping
'a' is iterable
1 is iterable
[] is iterable
none is iterable
undefined_name is iterable
undefined_name is sequence
'a'.upper is callable
range is callable
1 is callable
'abc' is lower
'ABC' is upper
'aBC' is lower
1 is lower
'x' is in 'xyz'
1 is in [1, 2]
3 is not in [1, 2]
1 is eq 1
1 is equalto 1
1 is ne 2
2 is gt 1
2 is greaterthan 1
1 is lt 2
1 is lessthan 2
2 is ge 2
1 is le 2
1 is sameas 1
none is sameas none
true is sameas true
'upper' is filter
'nonsense' is filter
'odd' is test
'nonsense' is test
1 is nonsense
1 | nonsense
nonsense(1)
'abc'.nonsense()
'abc'.encode()
"double \"quoted\" \\ \x41 \u00e9 \101 \q"
'single "quotes"'
'a' 'b'
not (1 in [2])
not 1 in [2]
1 + 2 in [3]
'a' ~ 'b' in 'ab'
1 is odd and 2 is even
-1 | abs
- 1 | abs
(-1) | abs
2 * 3 | string
'a' ~ 'b' | upper
[1, 2, 3] | join(',') | length
(1 if yes else 2) + 1
[x for x in y]
1 +
{{ 1
loop
lipsum()
cycler('a', 'b').next()
joiner()()
namespace(a=1).a
namespace(a=1)
namespace().x is defined
namespace(a=1)['a']
namespace(_a=1)
strftime_now('%Y-%m-%d')
strftime_now('%d %b %Y, %A')
raise_exception('no')
(5).bit_length()
(2.0).is_integer()
[1, 2, 1].count(1)
[1, 2].index(2)
[1, 2].index(3)
(1, 2).count(2)
[1, 2].copy()
mapping.C.copy()
'a' < 1
[] + 'a'
1 + 'a'
'5' * '5'
1 / 0
1 % 0
none + 1
none | length
5 | length
5[0]
none[0] is undefined
{}[[]] is undefined
{[]: 1}
true and 'x'
[true, false] | select('true') | list
messages[0]['role']
messages[-1].role
messages[1:] | length
messages[-1]['content'].split('</think>')[-1].lstrip('\n')
messages[-1]['content'].split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n')
messages[0].content | trim
'<think>' in messages[-1].content
messages | map(attribute='role') | join(' ')
messages[2].tool_calls[0].function.arguments | items | list
messages[2].tool_calls[0]['function']['arguments'].items() | list
messages[2].tool_calls is defined and messages[2].tool_calls
messages[2].tool_calls is iterable and messages[2].tool_calls is not string
(messages | length) - 1
messages | last | length
loop.index
'a'|upper|lower|title
('a', 'b') | join
['x', ('y', 'z')] | tojson
'\u00e9' | length
'e\u0301' | length
'👨‍👩‍👧' | length
'👨‍👩‍👧' | reverse | length
'A' ~ '\t' ~ 'B'
'a%b' % ()
"%d%%" % 50
'%5s|%-5s|' % ('é', 'é')
'{:>4}|'.format('é')
1.0 * 3
3.0 | int
10 ** 20
2 ** 200
10 // 3.0
1e308 * 10
'abc' == "abc"
"abc" is eq("abc")
1 in (1, 2)
'key' in mapping.C
mapping.C['d'] is true
[[1, 2], [3, 4]] | sum(start=[]) | join(',')
"x".join(["a", "b"] | map("upper"))
items | sort | first
""" .strip("\n").split("\n")

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
    # macros
    "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, c='y') }}{{ m(a=5, c=6) }}", "{% macro m(a, b) %}[{{ a }}{{ b }}{{ b is defined }}]{% endmacro %}{{ m(1) }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(3) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m() %}{% endmacro %}{{ m(1) }}", "{% macro m() %}{% endmacro %}{{ m(x=1) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}", "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m(a) %}x{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}", "{% macro m() %}x{% endmacro %}{{ m() | upper }}{{ m() | length }}{{ m() is string }}", "{% macro fact(n) %}{% if n > 1 %}{{ n }}*{{ fact(n - 1) }}{% else %}1{% endif %}{% endmacro %}{{ fact(5) }}",
    "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}", "{% macro m() %}{{ late }}{% endmacro %}{% set late = 'l' %}{{ m() }}", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{% macro m() %}{% set inner = 1 %}{% endmacro %}{{ m() }}[{{ inner }}]",
    "{% macro outer() %}{% macro inner(x) %}<{{ x }}>{% endmacro %}{{ inner(1) }}{% endmacro %}{{ outer() }}", "{% for i in numbers %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m(x) -%}  a{{ x }}  {%- endmacro %}[{{ m(1) }}]", "{{ m() }}{% macro m() %}x{% endmacro %}", "{% macro m(*a) %}{% endmacro %}",
    "{% macro m(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*[1, 2], c=3) }}{{ m(**{'a': 1, 'b': 2, 'c': 3}) }}{{ m(1, *[2], **{'c': 3}) }}", "{% macro m() %}x{% endmacro %}{{ m }}", "{% macro m(items) %}{% for i in items %}{{ i }}{{ caller(i) if caller }}{% endfor %}{% endmacro %}{{ m([1]) }}{% call(x) m([1, 2]) %}<{{ x }}>{% endcall %}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}in{% endcall %}", "{% macro m(a) %}{{ a }}{{ caller(2, b=3) }}{% endmacro %}{% call(a, b=1) m(0) %}{{ a }}{{ b }}{% endcall %}", "{% call 5 %}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
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
