"""A model folder that calls functions: its next token follows from the last one alone, so that what it says is written
down below. Its chat template begins an answer according to what was said before it."""

import json

import torch
from reference_models import make_config, make_model
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END = "<|im_end|>"
ARGUMENTS = {"room": "kitchen", "on": True}
# What comes after the token in front: the beginnings of answers are tokens of the template.
ANSWERS = {
    "<|talk|>": ["Hello", " there."],
    "<|call|>": ["Wait a", " moment.", "<tool_call>", '\n{"name": "switch_lamp", "argu', 'ments": ',
                 json.dumps(ARGUMENTS), "}\n", "</tool_call>"],
    "<|quick|>": ["<tool_call>"],  # which goes on as above
    "<|after|>": ["The lamp", " is", " on."],
    "<|broken|>": ["Oh.", '<tool_call>{"name": "oven"'],
    # As Qwen2.5-Coder calls Home Assistant's functions.
    "<|home|>": ["```json\n", '{\n  "name": "Hass', 'TurnOn",\n  ', '"arguments"', ": {", '"name": "Kitchen', ' Light", ',
                 '"domain": [', '"light"]}\n}', "\n```"],
}
TALK, BEFORE_CALL, AFTER, BROKEN = "Hello there.", "Wait a moment.", "The lamp is on.", 'Oh.<tool_call>{"name": "oven"'
TEMPLATE = """{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{{ call.function | tojson }}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{%- if messages[-1].role == 'tool' %}<|after|>
{%- elif tools and 'Quick' in messages[-1].content %}<|quick|>
{%- elif tools and 'lamp' in messages[-1].content %}<|call|>
{%- elif tools and 'kitchen light' in messages[-1].content %}<|home|>
{%- elif tools and 'oven' in messages[-1].content %}<|broken|>
{%- else %}<|talk|>{% endif %}
{%- endif %}"""
FUNCTION = {"name": "switch_lamp", "description": "Switches a lamp on or off.", "parameters": {
    "type": "object", "required": ["room", "on"],
    "properties": {"room": {"type": "string"}, "on": {"type": "boolean"}}}}


def make_tokenizer(answers, template):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: id for id, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|im_start|>", END, *answers])
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=False)
                          for answer in answers.values() for text in answer])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, chat_template=template)


def make_tool_model(folder, answers=ANSWERS, template=TEMPLATE):
    tokenizer = make_tokenizer(answers, template)
    vocabulary = tokenizer.get_vocab()
    size = 8 * (len(vocabulary) // 8 + 1)
    model = make_model(make_config(vocab_size=size, hidden_size=size, intermediate_size=8, num_hidden_layers=1,
                                   max_position_embeddings=8192, tie_word_embeddings=False,
                                   eos_token_id=vocabulary[END]))
    following = {id: vocabulary[END] for id in range(size)}
    for begin, answer in answers.items():
        for one, other in zip([begin, *answer], answer):
            following[vocabulary[one]] = vocabulary[other]
    with torch.no_grad():
        layer = model.model.layers[0]
        for weight in (layer.self_attn.o_proj.weight, layer.mlp.down_proj.weight, model.lm_head.weight):
            weight.zero_()
        model.model.norm.weight.fill_(1)
        model.model.embed_tokens.weight.copy_(torch.eye(size))
        for one, other in following.items():
            model.lm_head.weight[other, one] = 1
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
