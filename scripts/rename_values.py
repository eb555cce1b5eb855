"""Copies conversations with every name and longer number replaced, consistently within a conversation, so
that a model must repeat what it was told instead of what it knows by heart.

usage: rename_values.py OUTPUT COPIES INPUT..    (Parquet files in the layout of lmsys-chat-1m)

A name is a word that the files capitalise inside sentences four times out of five; its new form is the
beginning of one name and the end of another. Days, months and numbers of fewer than three digits stay.
Run it with the Python that scripts/setup.sh prints: it has pyarrow.
"""
import collections
import random
import re
import sys

import pyarrow as pa
import pyarrow.parquet as pq

KEPT = set("""monday tuesday wednesday thursday friday saturday sunday january february march april may june july
august september october november december""".split())
WORD = re.compile(r"[^\W\d_]{2,}")
NUMBER = re.compile(r"\d[\d,-]+\d")


COLUMNS = ["conversation_id", "conversation", "language"]


def read_rows(files):
    rows = []
    for file in files:
        try:
            rows += pq.read_table(file, columns=COLUMNS).to_pylist()
        except (OSError, pa.ArrowException) as error:
            sys.exit(f"rename_values: {file}: {str(error).splitlines()[0]}")
    return rows


def find_names(rows):
    inside, capital = collections.Counter(), collections.Counter()
    for row in rows:
        for message in row["conversation"]:
            text = message["content"]
            for match in WORD.finditer(text):
                if re.search(r"(^|[.!?]) *\W*$", text[:match.start()]):
                    continue  # a capital there says nothing
                word = match.group()
                inside[word.lower()] += 1
                capital[word.lower()] += word[0].isupper()
    return sorted(word for word in inside if capital[word] >= 0.8 * inside[word] and word not in KEPT)


def new_name(names, draw):
    first, second = draw.choice(names), draw.choice(names)
    return first[:(len(first) + 1) // 2] + second[len(second) // 2:]


def new_number(number, draw):
    return "".join(str(draw.randint(1, 9)) if c.isdigit() else c for c in number)


def rename(conversation, names, known, draw):
    renamed = {}

    def name(match):
        word = match.group()
        if word.lower() not in known:
            return word
        other = renamed.setdefault(word.lower(), new_name(names, draw))
        return other.capitalize() if word[0].isupper() else other

    def number(match):
        return renamed.setdefault(match.group(), new_number(match.group(), draw))

    return [{**message, "content": NUMBER.sub(number, WORD.sub(name, message["content"]))}
            for message in conversation]


def main():
    if len(sys.argv) < 4 or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    output, copies, inputs = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    rows = read_rows(inputs)
    names = find_names(rows)
    known, draw = set(names), random.Random(0)
    renamed = [{"conversation_id": f"{row['conversation_id']}-n{copy}",
                "conversation": rename(row["conversation"], names, known, draw),
                "language": row["language"]} for copy in range(1, copies + 1) for row in rows]
    pq.write_table(pa.Table.from_pylist(renamed), output)
    print(f"rename_values: {len(renamed)} conversations, {len(names)} names in {output}")


if __name__ == "__main__":
    main()
