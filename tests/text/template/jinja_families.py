"""Templates in the manner of families of models, written for this test."""

def generated(text):
    return "{% if add_generation_prompt %}{{ '" + text + "' }}{% endif %}"


CHATML = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}" + generated(r"<|im_start|>assistant\n")

ALTERNATE = ("{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
             "{%- endif -%}")

LLAMA_2 = """{% if messages and messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}
{%- for message in loop_messages %}""" + ALTERNATE + """{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}
{%- if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'system' %}{{ '<<SYS>>\\n' + content.strip() + '\\n<</SYS>>\\n\\n' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""

LLAMA_3 = ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}"
           "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}" + generated(r"<|start_header_id|>assistant<|end_header_id|>\n\n"))

LLAMA_3_TOOLS = r"""{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{#- The system message comes out first, so that it can hold the tools. #}
{%- if messages and messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{%- if tools is not none %}{{- "Environment: ipython\n" }}{%- endif %}
{{- "Today Date: " + date_string + "\n\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\n\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}{{- "<|eot_id|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content'] | trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("Cannot put tools in the first user message when there's no first user message!") }}
{%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\n\n' -}}
    {{- 'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.' }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\n\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\n\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
"""

LLAMA_4 = r"""{{- bos_token }}
{%- macro content_of(message) %}{% if message['content'] is string %}{{- message['content'] }}{% else %}{% for content in message['content'] %}{% if content['type'] == 'image' %}{{- '<|image|>' }}{% elif content['type'] == 'text' %}{{- content['text'] | trim }}{% endif %}{% endfor %}{% endif %}{% endmacro %}
{%- set is_tool_use = tools is defined and tools is not none and tools | length > 0 %}
{%- if messages and messages[0].role == 'system' %}{{- '<|header_start|>system<|header_end|>\n\n' ~ content_of(messages[0]) ~ '<|eot|>' }}{%- set messages = messages[1:] %}{%- endif %}
{%- if is_tool_use %}{{- '<|header_start|>tools<|header_end|>\n\n[' }}{%- for t in tools %}{{- t | tojson(indent=2) }}{{- ',' if not loop.last }}{%- endfor %}{{- ']<|eot|>' }}{%- endif %}
{%- for message in messages %}
{%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
{{- '<|header_start|>' + message['role'] + '<|header_end|>\n\n' }}{{- content_of(message) }}{{- "<|eot|>" }}
{%- elif 'tool_calls' in message and message.tool_calls | length > 0 %}
{{- '<|header_start|>assistant<|header_end|>\n\n' }}<|python_start|>{{- content_of(message) }}<|python_end|>
{%- for tool_call in message.tool_calls %}{{- '{"name": "' + tool_call.function.name + '", "parameters": ' + (tool_call.function.arguments | tojson) + '}' }}{%- endfor %}{{- "<|eom|>" }}
{%- else %}{{- "<|header_start|>ipython<|header_end|>\n\n" }}{{- message.content | tojson if message.content is mapping else message.content }}{{- "<|eom|>" }}
{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- '<|header_start|>assistant<|header_end|>\n\n' }}{%- endif %}"""

MISTRAL_1 = "{{ bos_token }}{% for message in messages %}" + ALTERNATE + """{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token }}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"""

MISTRAL_3 = r"""{%- if messages and messages[0]["role"] == "system" %}{%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- for message in loop_messages | rejectattr("role", "equalto", "tool") | rejectattr("role", "equalto", "tool_results") | selectattr("tool_calls", "undefined") %}
{%- if (message["role"] == "user") != (loop.index0 % 2 == 0) %}{{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...") }}{%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val|tojson }}{%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}{{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}{%- else %}{{- "[INST] " + message["content"] + "[/INST]" }}{%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}{{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}{%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}{{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool_results" or message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}{%- set content = message.content.content %}{%- else %}{%- set content = message.content %}{%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}{{- raise_exception("Only user and assistant roles are supported, with the exception of an initial optional system message!") }}
    {%- endif %}
{%- endfor %}"""

MISTRAL_7 = r"""{%- set today = strftime_now("%Y-%m-%d") %}{%- set default_system_message = "You are Small. The current date is " + today + ".\n" %}
{{- bos_token }}
{%- if messages and messages[0]['role'] == 'system' %}{%- if messages[0]['content'] is string %}{%- set system_message = messages[0]['content'] %}{%- else %}{%- set system_message = messages[0]['content'][0]['text'] %}{%- endif %}{%- set loop_messages = messages[1:] %}
{%- else %}{%- set system_message = default_system_message %}{%- set loop_messages = messages %}{%- endif %}
{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("roles must alternate") }}{%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{%- for message in loop_messages %}
    {%- if message['role'] == 'user' %}
        {%- if message['content'] is string %}{{- '[INST]' + message['content'] + '[/INST]' }}
        {%- else %}{{- '[INST]' }}{%- for block in message['content'] | sort(attribute='type', reverse=true) %}{%- if block['type'] == 'text' %}{{- block['text'] }}{%- elif block['type'] in ['image', 'image_url'] %}{{- '[IMG]' }}{%- else %}{{- raise_exception('Only text and image blocks are supported in message content!') }}{%- endif %}{%- endfor %}{{- '[/INST]' }}
        {%- endif %}
    {%- elif message['role'] == 'system' %}{{- '[SYSTEM_PROMPT]' + message['content'] + '[/SYSTEM_PROMPT]' }}
    {%- elif message['role'] == 'assistant' and message.tool_calls is defined %}
        {%- for c in message.tool_calls %}{%- set arguments = c.function.arguments if c.function.arguments is string else c.function.arguments | tojson %}{{- '[TOOL_CALLS]' + c.function.name + '[ARGS]' + arguments }}{%- endfor %}{{- eos_token }}
    {%- elif message['role'] == 'assistant' %}{%- if message['content'] is string %}{{- message['content'] + eos_token }}{%- else %}{{- message['content'][0]['text'] + eos_token }}{%- endif %}
    {%- elif message['role'] == 'tool' %}{{- '[TOOL_RESULTS]' + message['tool_call_id'] + '[TOOL_CONTENT]' + message['content'] + '[/TOOL_RESULTS]' }}
    {%- else %}{{- raise_exception('Only user, system and assistant roles are supported!') }}
    {%- endif %}
{%- endfor %}"""

QWEN_25 = r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are a helpful assistant.' }}
    {%- endif %}
    {{- "\n\n# Tools\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools>\n\nReturn a json object within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\n<tool_call>\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' }}
        {{- message.content }}
        {{- '\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
"""

QWEN_3 = r"""{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system") %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\n' }}
                {%- endif %}
                {{- '<tool_call>\n{"name": "' ~ tool_call.function.name ~ '", "arguments": ' }}
                {%- if tool_call.function.arguments is string %}{{- tool_call.function.arguments }}{%- else %}{{- tool_call.function.arguments | tojson }}{%- endif %}
                {{- '}\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {{- '<|im_start|>user\n<tool_response>\n' + content + '\n</tool_response><|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}"""

QWEN_CODER = r"""{%- macro render_extra_keys(json_dict, handled_keys) %}
    {%- if json_dict is mapping %}
        {%- for json_key in json_dict if json_key not in handled_keys %}
            {%- if json_dict[json_key] is string %}
                {{-'\n<' ~ json_key ~ '>' ~ json_dict[json_key] ~ '</' ~ json_key ~ '>' }}
            {%- else %}
                {{- '\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | tojson | safe) ~ '</' ~ json_key ~ '>' }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
{%- endmacro %}
{%- for tool in tools or [] %}
    {%- if tool.function is defined %}{%- set tool = tool.function %}{%- endif %}
    {{- "\n<function>\n<name>" ~ tool.name ~ "</name>" }}
    {%- if tool.parameters is defined and tool.parameters is mapping and tool.parameters.properties is defined %}
        {%- for param_name, param_fields in tool.parameters.properties | items %}
            {{- '\n<parameter>\n<name>' ~ param_name ~ '</name>' }}
            {%- if param_fields.type is defined %}{{- '\n<type>' ~ (param_fields.type | string) ~ '</type>' }}{%- endif %}
            {%- if param_fields.description is defined %}{{- '\n<description>' ~ (param_fields.description | trim) ~ '</description>' }}{%- endif %}
            {{- render_extra_keys(param_fields, ['name', 'type', 'description']) }}
            {{- '\n</parameter>' }}
        {%- endfor %}
    {%- endif %}
    {{- render_extra_keys(tool, ['type', 'name', 'description', 'parameters']) }}
    {{- '\n</function>' }}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "assistant" and message.tool_calls is defined and message.tool_calls is iterable and message.tool_calls | length > 0 %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {{- '\n<tool_call>\n<function=' + tool_call.function.name + '>\n' }}
            {%- for args_name, args_value in tool_call.function.arguments | items %}
                {{- '<parameter=' + args_name + '>\n' }}
                {%- set args_value = args_value | tojson | safe if args_value is mapping or (args_value is sequence and args_value is not string) else args_value | string %}
                {{- args_value }}
                {{- '\n</parameter>\n' }}
            {%- endfor %}
            {{- '</function>\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.previtem and loop.previtem.role != "tool" %}{{- '<|im_start|>user\n' }}{%- endif %}
        {{- '<tool_response>\n' ~ message.content ~ '\n</tool_response>\n' }}
        {%- if not loop.last and loop.nextitem.role != "tool" %}{{- '<|im_end|>\n' }}{%- elif loop.last %}{{- '<|im_end|>\n' }}{%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + (message.content if message.content is string else message.content | map(attribute='text') | join) + '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}""" + generated(r"<|im_start|>assistant\n")

SMOLLM_3 = r"""{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}
{%- set reasoning_mode = "/think" if enable_thinking else "/no_think" -%}
{{- "<|im_start|>system\n" -}}
{%- if messages and messages[0].role == "system" -%}
  {%- set system_message = messages[0].content -%}
  {%- if "/no_think" in system_message -%}{%- set reasoning_mode = "/no_think" -%}{%- elif "/think" in system_message -%}{%- set reasoning_mode = "/think" -%}{%- endif -%}
  {%- set custom_instructions = system_message.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- endif -%}
{%- if "/system_override" in (system_message | default("")) -%}{{- custom_instructions.replace("/system_override", "").rstrip() -}}
{%- else -%}
  {{- "## Metadata\n\nToday Date: " ~ strftime_now("%d %B %Y") ~ "\nReasoning Mode: " + reasoning_mode + "\n\n## Custom Instructions\n\n" -}}
  {%- if custom_instructions -%}{{- custom_instructions + "\n\n" -}}{%- elif reasoning_mode == "/think" -%}{{- "Think well.\n\n" -}}{%- else -%}{{- "You are helpful.\n\n" -}}{%- endif -%}
  {%- if tools or xml_tools -%}
    {{- "### Tools\n\n" -}}
    {%- set ns = namespace(xml_tool_string="<tools>\n") -%}
    {%- for tool in tools[:] -%}{%- set ns.xml_tool_string = ns.xml_tool_string ~ (tool | string) ~ "\n" -%}{%- endfor -%}
    {{- ns.xml_tool_string + "</tools>\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>\n\n" -}}
  {%- endif -%}
{%- endif -%}
{{- "<|im_end|>\n" -}}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else "" -%}
    {%- if message.role == "user" -%}{{ "<|im_start|>" + message.role + "\n"  + content + "<|im_end|>\n" }}
    {%- elif message.role == "assistant" -%}
        {% generation %}
        {%- if reasoning_mode == "/think" -%}{{ "<|im_start|>assistant\n" + content.lstrip("\n") + "<|im_end|>\n" }}
        {%- else -%}{{ "<|im_start|>assistant\n" + "<think>\n\n</think>\n" + content.lstrip("\n") + "<|im_end|>\n" }}
        {%- endif -%}
        {% endgeneration %}
    {%- elif message.role == "tool" -%}{{ "<|im_start|>" + "user\n"  + content + "<|im_end|>\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {%- if reasoning_mode == "/think" -%}{{ "<|im_start|>assistant\n" }}{%- else -%}{{ "<|im_start|>assistant\n" + "<think>\n\n</think>\n"  }}{%- endif -%}
{%- endif -%}"""

GEMMA_2 = ("{{ bos_token }}{% if messages and messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}" + ALTERNATE +
           "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
           + generated(r"<start_of_turn>model\n"))

GEMMA_3 = r"""{{ bos_token }}
{%- if messages and messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    """ + ALTERNATE + r"""
    {%- if (message['role'] == 'assistant') -%}{%- set role = "model" -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}
    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}{{ '<start_of_image>' }}{%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
"""

GEMMA_4 = r"""{%- macro format_parameters(properties, required) -%}
    {%- set ns = namespace(found_first=false) -%}
    {%- for key, value in properties | dictsort -%}
        {%- if ns.found_first %},{% endif -%}
        {%- set ns.found_first = true -%}
        {{ key }}:{
        {%- if value['description'] -%}description:<|"|>{{ value['description'] }}<|"|>,{%- endif -%}
        {%- if value['properties'] is defined and value['properties'] is mapping -%}properties:{ {{- format_parameters(value['properties'], value['required'] | default([])) -}} },{%- endif -%}
        {%- if value['enum'] -%}enum:{{ format_argument(value['enum']) }},{%- endif -%}
        type:<|"|>{{ (value['type'] if value['type'] is string else 'any') | upper }}<|"|>}
    {%- endfor -%}
{%- endmacro -%}
{%- macro format_argument(argument, escape_keys=True) -%}
    {%- if argument is string -%}{{- '<|"|>' + argument + '<|"|>' -}}
    {%- elif argument is boolean -%}{{- 'true' if argument else 'false' -}}
    {%- elif argument is mapping -%}{{- '{' -}}{%- set ns = namespace(found_first=false) -%}{%- for key, value in argument | dictsort -%}{%- if ns.found_first %},{% endif -%}{%- set ns.found_first = true -%}{{- ('<|"|>' + key + '<|"|>') if escape_keys else key -}}:{{- format_argument(value, escape_keys=escape_keys) -}}{%- endfor -%}{{- '}' -}}
    {%- elif argument is sequence -%}{{- '[' -}}{%- for item in argument -%}{{- format_argument(item, escape_keys=escape_keys) -}}{%- if not loop.last %},{% endif -%}{%- endfor -%}{{- ']' -}}
    {%- else -%}{{- argument -}}
    {%- endif -%}
{%- endmacro -%}
{%- macro strip_thinking(text) -%}
    {%- set ns = namespace(result='') -%}
    {%- for part in text.split('</think>') -%}{%- if '<think>' in part -%}{%- set ns.result = ns.result + part.split('<think>')[0] -%}{%- else -%}{%- set ns.result = ns.result + part -%}{%- endif -%}{%- endfor -%}
    {{- ns.result | trim -}}
{%- endmacro -%}
{{ bos_token }}
{%- for t in tools or [] -%}<|tool>declaration:{{ t.function.name }}{ {{- format_parameters(t['function']['parameters']['properties'], []) -}} }<tool|>{%- endfor -%}
{%- for m in messages -%}
{{ '<|turn>' + ('model' if m.role == 'assistant' else m.role) + '\n' }}
{%- if m.content is string -%}{{ strip_thinking(m.content) }}{%- else -%}{%- for p in m.content -%}{{ p.text }}{%- endfor -%}{%- endif -%}
{%- for c in m.tool_calls or [] -%}{{- '<|tool_call>call:' + c.function.name -}}{{ format_argument(c.function.arguments, escape_keys=False) }}<tool_call|>{%- endfor -%}
{{ '<turn|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|turn>model\n' -}}{%- if not (enable_thinking | default(false)) -%}{{- '<|channel>thought\n<channel|>' -}}{%- endif -%}{%- endif -%}"""

OLMO_2 = ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}"
          "{% elif message['role'] == 'assistant' %}{% if not loop.last %}{{ '<|assistant|>\n'  + message['content'] + eos_token + '\n' }}{% else %}{{ '<|assistant|>\n'  + message['content'] + eos_token }}{% endif %}{% endif %}"
          "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}")

PHI_3 = "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"
PHI_4_MINI = "{% for message in messages %}{% if message['role'] == 'system' and tools is not none %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + (tools | tojson) + '<|/tool|>' + '<|end|>' }}{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"
DEEPSEEK_2 = "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ 'User: ' + message['content'] + '\n\n' }}{% elif message['role'] == 'assistant' %}{{ 'Assistant: ' + message['content'] + eos_token }}{% elif message['role'] == 'system' %}{{ message['content'] + '\n\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"

DEEPSEEK_R1 = r"""{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='', is_first_sp=true) %}{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.is_first_sp %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first_sp = false %}{%- else %}{% set ns.system_prompt = ns.system_prompt + '\n\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.system_prompt }}
{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<｜User｜>' + (message['content'] if message['content'] is string else '')}}{%- endif %}
{%- if message['role'] == 'assistant' and 'tool_calls' in message %}{%- set ns.is_tool = false -%}{%- for tool in message['tool_calls'] %}{%- if not ns.is_first %}{{'<｜Assistant｜><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + tool['function']['name'] + '\n' + '```json' + '\n' + (tool['function']['arguments'] | tojson) + '\n' + '```' + '<｜tool▁call▁end｜>'}}{%- set ns.is_first = true -%}{%- else %}{{'\n' + '<｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + tool['function']['name']}}{%- endif %}{%- endfor %}{{'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'}}{%- endif %}
{%- if message['role'] == 'assistant' and 'tool_calls' not in message %}{%- if ns.is_tool %}{{'<｜tool▁outputs▁end｜>' + message['content'] + '<｜end▁of▁sentence｜>'}}{%- set ns.is_tool = false -%}{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>'}}{%- endif %}{%- endif %}
{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\n<｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'<｜tool▁outputs▁end｜>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\n'}}{% endif %}"""

COMMAND_R = r"""{{ bos_token }}{%- macro json_to_python_type(json_spec) %}
{%- set basic_type_map = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"} %}
{%- if json_spec.type is string and basic_type_map[json_spec.type] is defined %}{{- basic_type_map[json_spec.type] }}{%- elif json_spec.type == "array" %}{{- "List[" +  json_to_python_type(json_spec["items"]) + "]"}}{%- elif json_spec.type == "object" %}{{- "Dict"}}{%- elif json_spec.type is iterable %}{{- "Union[" }}{%- for t in json_spec.type %}{{- json_to_python_type({"type": t}) }}{%- if not loop.last %}{{- "," }}{%- endif %}{%- endfor %}{{- "]" }}{%- else %}{{- "Any" }}{%- endif %}
{%- endmacro %}
{%- macro tool_parser(tools) %}
{%- for tool in tools %}{%- if tool.type is defined %}{%- set tool = tool.function %}{%- endif -%}
{{- '```python\ndef ' + tool.name + '(' }}{%- for param_name, param_fields in tool.parameters.properties|items %}{%- if loop.index != 1 %}{{ ', '}}{%- endif -%}{{ param_name + ": " }}{%- if not param_name in (tool.parameters.required or []) %}{{'Optional[' + json_to_python_type(param_fields) + '] = None'}}{%- else %}{{ json_to_python_type(param_fields) }}{%- endif %}{%- endfor %}{{ ') -> List[Dict]:\n    ~~~'}}{{ tool.description }}{%- if tool.parameters.properties|length != 0 %}{{ '\n\n    Args:\n        '}}{%- for param_name, param_fields in tool.parameters.properties|items %}{%- if loop.index != 1 %}{{ '\n        ' }}{%- endif -%}{{ param_name + ' ('}}{{ json_to_python_type(param_fields) + '): ' }}{{ param_fields.description | default('') }}{%- endfor %}{%- endif %}{{ '\n    ~~~\n    pass\n```' }}{%- endfor %}
{%- endmacro %}
{%- if tools %}{{ tool_parser(tools) }}{% endif %}
{%- for message in messages %}{%- set content = message['content'] if message['content'] is string else '' %}
{%- if message.role == 'system' %}{{ '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + content.strip() + '<|END_OF_TURN_TOKEN|>' }}{%- elif message.role == 'user' %}{{ '<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + content.strip() + '<|END_OF_TURN_TOKEN|>' }}{%- elif message.role == 'assistant' or message.role == 'chatbot' %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{%- if message.content is defined %}{{ content.strip() }}{%- endif %}{%- if message.tool_calls %}{{ '\nAction: ```json\n[\n' }}{%- for tool_call in message.tool_calls %}{{ '{\n'|indent(4, first=true) }}{{ ('"tool_name": "'|indent(8, first=true)) + tool_call.function.name + '",\n' }}{{ '"parameters": '|indent(8, first=true) }}{%- if tool_call.function.arguments is not none and tool_call.function.arguments|length > 0 %}{{ tool_call.function.arguments|tojson(indent=4)|indent(8) }}{%- else %}{{ '{}' }}{%- endif %}{{ '\n' + '}'|indent(4, first=true) }}{%- if not loop.last %}{{ ',\n' }}{%- endif %}{%- endfor %}{{ '\n]```' }}{%- endif %}{{ '<|END_OF_TURN_TOKEN|>' }}{%- elif message.role == 'tool' %}{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|><results>' }}{%- endif %}{{ '\ndocument: ' ~ loop.index0 ~ '\n' ~ message.content }}{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '</results><|END_OF_TURN_TOKEN|>' }}{%- endif %}{%- endif %}{%- endfor %}""" + generated("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>")

HARMONY = r"""{%- macro render_typescript_type(param_spec, required_params, is_nullable=false) -%}
    {%- if param_spec.type == "array" -%}{%- if param_spec['items'] -%}{{- render_typescript_type(param_spec['items'], required_params) + "[]" }}{%- else -%}{{- "any[]" }}{%- endif -%}
    {%- elif param_spec.type is defined and param_spec.type is iterable and param_spec.type is not string and param_spec.type is not mapping and param_spec.type[0] is defined -%}{{- param_spec.type | join(" | ") }}
    {%- elif param_spec.type == "string" -%}{%- if param_spec.enum -%}{{- '"' + param_spec.enum|join('" | "') + '"' -}}{%- else -%}{{- "string" }}{%- if param_spec.nullable %}{{- " | null" }}{%- endif -%}{%- endif -%}
    {%- elif param_spec.type in ("number", "integer") -%}{{- "number" }}
    {%- elif param_spec.type == "object" -%}{%- if param_spec.properties -%}{{- "{\n" }}{%- for prop_name, prop_spec in param_spec.properties.items() -%}{{- prop_name }}{%- if prop_name not in (param_spec.required or []) -%}{{- "?" }}{%- endif -%}{{- ": " }}{{ render_typescript_type(prop_spec, param_spec.required or []) }}{%- if not loop.last -%}{{-", " }}{%- endif -%}{%- endfor -%}{{- "}" }}{%- else -%}{{- "object" }}{%- endif -%}
    {%- else -%}{{- "any" }}
    {%- endif -%}
{%- endmacro -%}
{%- macro render_tool_namespace(namespace_name, tools) -%}
    {{- "## " + namespace_name + "\n\n" }}{{- "namespace " + namespace_name + " {\n\n" }}
    {%- for tool in tools %}{%- set tool = tool.function %}{{- "// " + tool.description + "\n" }}{{- "type "+ tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}{{- "(_: {\n" }}{%- for param_name, param_spec in tool.parameters.properties.items() %}{%- if param_spec.description %}{{- "// " + param_spec.description + "\n" }}{%- endif %}{{- param_name }}{%- if param_name not in (tool.parameters.required or []) -%}{{- "?" }}{%- endif -%}{{- ": " }}{{- render_typescript_type(param_spec, tool.parameters.required or []) }}{%- if param_spec.default is defined -%}{%- if param_spec.oneof %}{{- "// default: " + param_spec.default }}{%- else %}{{- ", // default: " + param_spec.default|tojson }}{%- endif -%}{%- endif -%}{%- if not loop.last %}{{- ",\n" }}{%- else %}{{- "\n" }}{%- endif -%}{%- endfor %}{{- "}) => any;\n\n" }}{%- else -%}{{- "() => any;\n\n" }}{%- endif -%}
    {%- endfor %}{{- "} // namespace " + namespace_name }}
{%- endmacro -%}
{%- if reasoning_effort is not defined %}{%- set reasoning_effort = "medium" %}{%- endif %}
{{- "<|start|>system<|message|>Current date: " + strftime_now("%Y-%m-%d") + "\n\nReasoning: " + reasoning_effort + "<|end|>" }}
{%- if messages and messages[0].role in ["developer", "system"] %}{%- set developer_message = messages[0].content %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set developer_message = "" %}{%- set loop_messages = messages %}{%- endif %}
{%- if developer_message or tools %}{{- "<|start|>developer<|message|>" }}{%- if developer_message %}{{- "# Instructions\n\n" + developer_message + "\n\n" }}{%- endif %}{%- if tools -%}{{- "# Tools\n\n" }}{{- render_tool_namespace("functions", tools) }}{%- endif -%}{{- "<|end|>" }}{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in loop_messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "tool_calls" in message %}
            {%- set future_final_message = namespace(found=false) %}
            {%- for future_message in loop_messages[loop.index:] %}{%- if future_message.role == 'assistant' and "tool_calls" not in future_message %}{%- set future_final_message.found = true %}{%- endif %}{%- endfor %}
            {%- set tool_call = message.tool_calls[0].function %}
            {%- if message.content and not future_final_message.found %}{{- "<|start|>assistant<|channel|>analysis<|message|>" + message.content + "<|end|>" }}{%- endif %}
            {{- "<|start|>assistant to=functions." ~ tool_call.name ~ "<|channel|>commentary json<|message|>" }}{{- tool_call.arguments|tojson }}{{- "<|call|>" }}{%- set last_tool_call.name = tool_call.name %}
        {%- elif loop.last and not add_generation_prompt %}{%- if "thinking" in message %}{{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}{%- endif %}{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}{%- set last_tool_call.name = none %}{%- endif %}
    {%- elif message.role == 'tool' -%}{%- if last_tool_call.name is none %}{{- raise_exception("Message has tool role, but there was no previous assistant message with a tool call!") }}{%- endif %}{{- "<|start|>functions." + last_tool_call.name }}{{- " to=assistant<|channel|>commentary<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}{{- "<|start|>user<|message|>" + (message.content if message.content is string else message.content[0].text) + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}"""

GRANITE = r"""{%- set tools_system_message_prefix = 'You may call these tools:' %}
{%- macro role_of(r) %}{{ '<|start_of_role|>' ~ r ~ '<|end_of_role|>' }}{% endmacro %}
{%- if messages and messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set system_message = "Today's Date: " + strftime_now('%B %d, %Y') + "." %}{%- set loop_messages = messages %}{%- endif %}
{{- role_of('system') + system_message + '<|end_of_text|>\n' }}
{%- if tools %}{{- role_of('available_tools') }}{{- tools | tojson(indent=4) }}{{- '<|end_of_text|>\n' }}{%- endif %}
{%- for message in loop_messages %}
    {%- if message['role'] == 'assistant' and 'tool_calls' in message and message['tool_calls'] %}{{- role_of('assistant') ~ '<|tool_call|>' ~ (message['tool_calls'] | map(attribute='function') | list | tojson) ~ '<|end_of_text|>\n' }}
    {%- else %}{{- role_of('tool_response' if message['role'] == 'tool' else message['role']) ~ (message['content'] if message['content'] is string else (message['content'] | map(attribute='text') | join(''))) ~ '<|end_of_text|>\n' }}
    {%- endif %}
    {%- if loop.last and add_generation_prompt %}{{- role_of('assistant') }}{%- endif %}
{%- endfor %}"""

LFM_2 = r"""{{- bos_token -}}{%- set system_prompt = "" -%}{%- set ns = namespace(system_prompt="") -%}
{%- if messages and messages[0]["role"] == "system" -%}{%- set ns.system_prompt = messages[0]["content"] -%}{%- set messages = messages[1:] -%}{%- endif -%}
{%- if tools -%}{%- set ns.system_prompt = ns.system_prompt + ("\n" if ns.system_prompt else "") + "List of tools: <|tool_list_start|>[" -%}{%- for tool in tools -%}{%- if tool is not string -%}{%- set tool = tool | tojson -%}{%- endif -%}{%- set ns.system_prompt = ns.system_prompt + tool -%}{%- if not loop.last -%}{%- set ns.system_prompt = ns.system_prompt + ", " -%}{%- endif -%}{%- endfor -%}{%- set ns.system_prompt = ns.system_prompt + "]<|tool_list_end|>" -%}{%- endif -%}
{%- if ns.system_prompt -%}{{- "<|im_start|>system\n" + ns.system_prompt + "<|im_end|>\n" -}}{%- endif -%}
{%- for message in messages -%}{{- "<|im_start|>" + message["role"] + "\n" -}}{%- set content = message["content"] -%}{%- if content is not string -%}{%- set content = content | tojson -%}{%- endif -%}
{%- if message["role"] == "tool" -%}{%- set content = "<|tool_response_start|>" + content + "<|tool_response_end|>" -%}{%- elif message["role"] == "assistant" and message.tool_calls -%}{%- set calls = namespace(l=[]) -%}{%- for c in message.tool_calls -%}{%- set args = namespace(l=[]) -%}{%- for k, v in c.function.arguments.items() -%}{%- set args.l = args.l + [k ~ "=" ~ (v | tojson)] -%}{%- endfor -%}{%- set calls.l = calls.l + [c.function.name ~ "(" ~ args.l | join(", ") ~ ")"] -%}{%- endfor -%}{%- set content = "<|tool_call_start|>[" ~ calls.l | join(", ") ~ "]<|tool_call_end|>" ~ content -%}{%- endif -%}
{{- content + "<|im_end|>\n" -}}{%- endfor -%}{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\n" -}}{%- endif -%}"""

HERMES = r"""{{ bos_token }}{{ '<|im_start|>system\nYou are a function calling AI model. <tools> ' }}
{%- for tool in tools or [] %}{%- set f = tool.function %}{{- '{"type": "function", "function": {"name": "' ~ f.name ~ '", "description": "' ~ f.name ~ '(' }}{%- for name, field in f.parameters.properties | items %}{{- name ~ ': ' ~ field.type }}{%- if not loop.last %}{{- ', ' }}{%- endif %}{%- endfor %}{{- ')' }}{%- if f.return is defined %}{{- ' -> ' ~ f.return.type }}{%- endif %}{{- ' - ' ~ f.description ~ '", "parameters": ' }}{%- if f.parameters.properties | length == 0 %}{{- '{}' }}{%- else %}{{- f.parameters | tojson }}{%- endif %}{{- '}}' }}{%- if not loop.last %}{{- '\n' }}{%- endif %}{%- endfor %}
{{- ' </tools> For each function call return <tool_call></tool_call><|im_end|>\n' }}
{%- for message in messages %}
    {%- if message.role == "user" or message.role == "system" or (message.role == "assistant" and message.tool_calls is not defined) %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}{{- '<|im_start|>' + message.role }}{%- for tool_call in message.tool_calls %}{{- '\n<tool_call>\n' }}{%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}{{- '{' }}{{- '"name": "' }}{{- tool_call.name }}{{- '"' }}{{- ', ' }}{%- if tool_call.arguments is defined %}{{- '"arguments": ' }}{%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments|tojson }}{%- endif %}{%- endif %}{{- '}' }}{{- '\n</tool_call>' }}{%- endfor %}{{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}{%- if loop.previtem and loop.previtem.role != "tool" %}{{- '<|im_start|>tool\n' }}{%- endif %}{{- '<tool_response>\n' }}{{- message.content }}{%- if not loop.last %}{{- '\n</tool_response>\n' }}{%- else %}{{- '\n</tool_response>' }}{%- endif %}{%- if not loop.last and loop.nextitem.role != "tool" %}{{- '<|im_end|>' }}{%- elif loop.last %}{{- '<|im_end|>' }}{%- endif %}
    {%- endif %}
{%- endfor %}""" + generated(r"<|im_start|>assistant\n")

QWEN_35 = QWEN_3.replace("{%- if (message.role ==", "{%- if loop.first and message.role == 'system' and tools %}{{- '<|im_start|>system\\n# Tools\\n' ~ (tools | map('tojson') | join('\\n')) ~ '\\n' ~ content | trim ~ '<|im_end|>\\n' }}{%- elif (message.role ==", 1) \
    .replace("{{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}", "{{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- else %}\n{{- '<think>\\n' }}\n    {%- endif %}")

ZEPHYR = "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"
VICUNA = "{% if messages and messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] | trim + '\n\n' %}{% else %}{% set loop_messages = messages %}{% set system_message = '' %}{% endif %}{{ bos_token + system_message }}{% for message in loop_messages %}" + ALTERNATE + "{% if message['role'] == 'user' %}{{ 'USER: ' + message['content'] | trim + '\n' }}{% elif message['role'] == 'assistant' %}{{ 'ASSISTANT: ' + message['content'] | trim + eos_token + '\n' }}{% endif %}{% endfor %}" + generated("ASSISTANT:")
ALPACA = "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}\n\n{% elif m.role == 'user' %}### Instruction:\n{{ m.content | trim }}\n\n{% else %}### Response:\n{{ m.content | trim }}\n\n{% endif %}{% endfor %}{% if add_generation_prompt %}### Response:\n{% endif %}"
FALCON = "{% for message in messages %}{% if not loop.first %}{{ '\n' }}{% endif %}{% if message['role'] == 'system' %}{{ 'System: ' }}{% elif message['role'] == 'user' %}{{ 'User: ' }}{% elif message['role'] == 'assistant' %}{{ 'Falcon: ' }}{% endif %}{{ message['content'] | trim }}{% endfor %}" + generated(r"\nFalcon:")
GLM = r"""[gMASK]<sop>{%- if tools -%}<|system|>
{% for tool in tools %}
{{ tool | tojson(ensure_ascii=False) }}
{% endfor %}{%- endif -%}
{%- macro visible_text(content) -%}{%- if content is string -%}{{- content }}{%- elif content is iterable and content is not mapping -%}{%- for item in content -%}{%- if item is mapping and item.type == 'text' -%}{{- item.text }}{%- elif item is string -%}{{- item }}{%- endif -%}{%- endfor -%}{%- else -%}{{- content }}{%- endif -%}{%- endmacro -%}
{%- set ns = namespace(last_user_index=-1) %}{%- for m in messages %}{%- if m.role == 'user' %}{% set ns.last_user_index = loop.index0 -%}{%- endif %}{%- endfor %}
{% for m in messages %}{%- if m.role == 'user' -%}<|user|>
{{ visible_text(m.content) }}{{- '/nothink' if (enable_thinking is defined and not enable_thinking and not visible_text(m.content).endswith("/nothink")) else '' -}}
{%- elif m.role == 'assistant' -%}<|assistant|>{%- set reasoning_content = '' %}{%- set content = visible_text(m.content) %}{%- if m.reasoning_content is string %}{%- set reasoning_content = m.reasoning_content %}{%- elif '</think>' in content %}{%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}{%- if loop.index0 > ns.last_user_index and reasoning_content -%}{{ '\n<think>' + reasoning_content.strip() +  '</think>'}}{%- else -%}{{ '\n<think></think>' }}{%- endif -%}{%- if content.strip() -%}{{ '\n' + content.strip() }}{%- endif -%}
{% if m.tool_calls %}{% for tc in m.tool_calls %}{%- if tc.function %}{%- set tc = tc.function %}{%- endif %}{{ '\n<tool_call>' + tc.name }}
{% set _args = tc.arguments %}{% for k, v in _args.items() %}<arg_key>{{ k }}</arg_key>
<arg_value>{{ v | tojson(ensure_ascii=False) if v is not string else v }}</arg_value>
{% endfor %}</tool_call>{% endfor %}{% endif %}
{%- elif m.role == 'tool' -%}{%- if m.content is string -%}{%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|observation|>' }}{%- endif %}{{- '\n<tool_response>\n' }}{{- m.content }}{{- '\n</tool_response>' }}{%- endif -%}
{%- elif m.role == 'system' -%}<|system|>
{{ visible_text(m.content) }}{%- endif -%}{%- endfor -%}{%- if add_generation_prompt -%}<|assistant|>{{- '\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' -}}{%- endif -%}"""
KIMI = r"""{% macro render_content(msg) -%}{%- set c = msg.get('content') -%}{%- if c is string -%}{{ c }}{%- elif c is not none -%}{% for content in c -%}{% if content['type'] == 'image' or 'image' in content or 'image_url' in content -%}<|media_start|>{% else -%}{{ content['text'] }}{%- endif -%}{%- endfor -%}{%- endif -%}{%- endmacro -%}
{%- if tools -%}<|im_system|>tool_declare<|im_middle|>{{ tools | tojson(separators=(',', ':')) }}<|im_end|>{%- endif -%}
{%- for message in messages -%}{%- if loop.first and messages[0]['role'] != 'system' -%}<|im_system|>system<|im_middle|>You are K.<|im_end|>{%- endif -%}
{%- set role_name = message.get('name') or message['role'] -%}{%- if message['role'] == 'user' -%}<|im_user|>{{role_name}}<|im_middle|>{%- elif message['role'] == 'assistant' -%}<|im_assistant|>{{role_name}}<|im_middle|>{%- else -%}<|im_system|>{{role_name}}<|im_middle|>{%- endif -%}
{%- if message['role'] == 'assistant' and message.get('tool_calls') -%}{{ render_content(message) }}<|tool_calls_section_begin|>{%- for tool_call in message['tool_calls'] -%}{%- set formatted_id = tool_call['id'] -%}<|tool_call_begin|>{{ formatted_id }}<|tool_call_argument_begin|>{% if tool_call['function']['arguments'] is string %}{{ tool_call['function']['arguments'] }}{% else %}{{ tool_call['function']['arguments'] | tojson }}{% endif %}<|tool_call_end|>{%- endfor -%}<|tool_calls_section_end|>{%- elif message['role'] == 'tool' -%}{%- set tool_call_id = message.tool_call_id -%}## Return of {{ tool_call_id }}
{{ render_content(message) }}{%- else -%}{{ render_content(message) }}{%- endif -%}<|im_end|>{%- endfor -%}{%- if add_generation_prompt -%}<|im_assistant|>assistant<|im_middle|>{%- endif -%}"""

TEMPLATES = {
    "ChatML": CHATML,
    "Qwen2": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}" + generated(r"<|im_start|>assistant\n"),
    "Qwen2.5": QWEN_25, "Qwen3": QWEN_3, "Qwen3.5": QWEN_35, "Qwen3-Coder": QWEN_CODER,
    "SmolLM2": CHATML.replace("{% for m in messages %}", "{% for m in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are SmolLM.<|im_end|>\n' }}{% endif %}"),
    "SmolLM3": SMOLLM_3,
    "Llama-2": LLAMA_2, "Llama-3": LLAMA_3, "Llama-3.1": LLAMA_3_TOOLS, "Llama-3.1, tools in the system message": "{%- set tools_in_user_message = false %}" + LLAMA_3_TOOLS,
    "Llama-3.2": LLAMA_3_TOOLS.replace("Environment: ipython", "Cutting Knowledge Date: December 2023"), "Llama-4": LLAMA_4,
    "Mistral-v1": MISTRAL_1, "Mistral-v3": MISTRAL_3, "Mistral-Nemo": MISTRAL_3.replace('"[INST] "', '"[INST]"').replace("[AVAILABLE_TOOLS] [", "[AVAILABLE_TOOLS]["), "Mistral-v7": MISTRAL_7,
    "Mistral-v7, thinking": MISTRAL_7.replace("[TOOL_CALLS]' + c.function.name", "[TOOL_CALLS]' + c.function.name + '[CALL_ID]' + c.id"),
    "Gemma-2": GEMMA_2, "Gemma-3": GEMMA_3, "Gemma-4": GEMMA_4, "OLMo-2": OLMO_2, "Phi-3": PHI_3, "Phi-4": CHATML.replace("+ '\\n' + m['content']", "+ '<|im_sep|>' + m['content']"), "Phi-4-mini": PHI_4_MINI,
    "DeepSeek-V2": DEEPSEEK_2, "DeepSeek-R1": DEEPSEEK_R1, "DeepSeek-V3.1": DEEPSEEK_R1.replace("<｜Assistant｜><think>\\n", "<｜Assistant｜>' + ('<think>' if enable_thinking | default(false) else '</think>') + '"),
    "Command-R": COMMAND_R, "gpt-oss": HARMONY, "Granite-3": GRANITE, "Granite-4": GRANITE.replace("tojson(indent=4)", "tojson").replace("available_tools", "tools"), "LFM2": LFM_2, "Hermes-2-Pro": HERMES, "Hermes-3": HERMES.replace("You are a function calling AI model. ", ""),
    "Zephyr": ZEPHYR, "Vicuna": VICUNA, "Alpaca": ALPACA, "Falcon": FALCON, "GLM-4.5": GLM, "Kimi-K2": KIMI,
    "Yi": CHATML.replace("<|im_end|>' + '\\n'", "<|im_end|>\\n'"), "StableLM": CHATML.replace("{{ '<|im_start|>'", "{%- if not loop.first %}{{- '\n' }}{% endif %}{{ '<|im_start|>'"),
}
