"""What user_errors_test.py tries: by command the arguments, and after bars what the line on stderr must name."""

# {m}: the demo model; {c}: a good configuration of the command; {t}: the folder of this test; @word: see wrong_files.py.
CASES = {
    "": """
        chatt | chatt | did you mean "chat"?
        --log-levle debug chat | --log-levle | did you mean --log-level?
        --log-level loud chat --model {m} | loud | debug
        run smollm2 | run | predgen chat --model
        list | predgen models
        --log-level info | give a command | chat
        --log-level | --log-level | see predgen --help
    """,
    "bench": """
        --model @model
        --model {m} --adapter @adapter
        --model {m} --input @rows
        --model {m} --chat-template @template
        --model {m} --dtype int4 | int4 | fp32
        --model {m} --device tpu | tpu
        --model {m} --quantize int3 | int3 | int8
        --model {m} --runs 0 | --runs
        --model {m} --prompt 0 | --prompt
        --model {m} --prompt 999999 | --prompt | positions
        --tts nobody | --tts | espeak
        --tts espeak --voice nobody | nobody
        --tts zonos --tts-model @folder
        --prompt 5 | --model
        --model {m} --text Hello | --text | --tts
        --modle {m} | --modle | did you mean --model?
    """,
    "chat": """
        --model @model
        --model {m} --adapter @adapter
        --model {m} --draft-model @model
        --model {m} --draft-model own | no MTP layer | own
        --model {m} --past-answers @source
        --model {m} --past-answers data/samples/prompts.jsonl | has no answers
        --model {m} --transcripts @transcripts
        --model {m} --chat-template @template
        --model {m} --verifier gredy | --verifier | greedy
        --model {m} --decoder x | --decoder | jacobi
        --model {m} --preset x | --preset | economy
        --model {m} --temperature=-1 | temperature
        --model {m} --temperature hot | --temperature hot | number
        --model {m} --top-p 2 | top-p
        --model {m} --max-new-tokens 0 | --max-new-tokens 0 | above 0
        --model {m} --tts espeak --audio-out {t}/none/x.wav | {t}/none/x.wav
        --model {m} --tts espeak --audio-out {t}/empty | {t}/empty
        --model {m} --tts espeak --audio-out {t}/none/x.mp3 | x.mp3
        --model {m} --tts espeak --audio-out - --json | --audio-out
        --model {m} --temprature 0.5 | --temprature | did you mean --temperature?
        --model | --model | needs a value
        smollm2 | smollm2 | predgen chat --model smollm2
        --model {m} --tts espeak --audio-out {m}/config.json | {m}/config.json | --overwrite
    """,
    "data": """
        biuld | biuld | did you mean "build"?
        | give a command | build
    """,
    "data build": """
        --config {t}/train.yaml | train.yaml | another command
        --config @config
        --config {c} tokenizer=@tokenizer
        --config {c} sources=[@source]
        --config {c} chat_template=@template
        --config {c} held_out.files=[{t}/none.jsonl] | {t}/none.jsonl
        --config {c} output=@output
        --config {c} law=truncatd | law | truncated
        --config {c} seed=x | seed | x
        --config {c} sources=[] | sources
        --config {c} nonsense | nonsense | key=value
        --config {c} tokenzier=x | tokenzier | tokenizer
        --confg {c} | --confg | did you mean --config?
        --config {c} --max-steps 3 | --max-steps | key=value
        | --config
    """,
    "data trajectories": """
        --config {t}/data-build.yaml | data-build.yaml | another command
        --config @config
        --config {c} model=@model
        --config {c} adapter=@adapter
        --config {c} dataset=@dataset
        --config {c} output=@output
        --config {c} block_size=0 | block_size
        --config {c} ar_labels=x | ar_labels | dataset
        --config {c} --nproc 0 | --nproc
        --config {c} blok_size=4 | blok_size | block_size
        --confg {c} | --confg | did you mean --config?
        | --config
    """,
    "data show": """
        @dataset
        {t}/dataset --tokenizer @tokenizer
        {t}/dataset --n=-1 | --n -1 | negative
        {t}/dataset --tokenzier x | --tokenzier | did you mean --tokenizer?
        | store
    """,
    "doctor": """
        --model @config.json
        --memory 0 | --memory
        --context 0 | --context
        --tts-model @folder
        --modle {m} | --modle | did you mean --model?
    """,
    "eval": """
        --config {t}/data-build.yaml | data-build.yaml | another command
        --config @config
        --config {c} model=@model
        --config {c} adapter=@adapter
        --config {c} methods=[baseline,draft_model] draft_model=@model
        --config {c} turns.file=@prompts
        --config {c} output=@output
        --config {c} chat_template=@template
        --config {c} methods=[baselin] | baselin | baseline
        --config {c} methods=[] | methods
        --config {c} turns.kind=x | turns.kind | prompts
        --config {c} clock.kidn=x | clock.kidn | kind
        --config {c} threads=x | threads | x
        --config {c} judge.endpoint=http://127.0.0.1:1 | predgen-judge
        --compare @results {t}/results
        --compare {t}/results @results
        --compare {t}/results | --compare
        --compare {t}/results {t}/results --max-slower 3 | --max-slower | 3%
        --config {c} --restrt | --restrt | did you mean --restart?
        | --config | --compare
    """,
    "export": """
        --model @model --output {t}/new
        --model {m} --adapter @adapter --output {t}/new
        --model {m} --output @output
        --model {m} --output {m} | {m} | empty
        --model {m} --output {t}/new --dtype fp8 | fp8 | bf16
        --model {m} --output {t}/new --check x | --check | logits
        --model {m} | --output
        --modle {m} --output {t}/new | --modle | did you mean --model?
    """,
    "generate": """
        --model @model --prompt Hello
        --model {m} --adapter @adapter --prompt Hello
        --model checkpoints/demo-cllm --prompt Hello | is an adapter | --adapter
        --model Qwen/Qwen2.5-7B-Instruct --prompt Hello | hf download Qwen/Qwen2.5-7B-Instruct
        --model {m} --input @rows
        --model {m} --messages @messages
        --model {m} --chat-template @template --messages {t}/good.json
        --model {m} --draft-model @model --prompt Hello
        --model {m} --draft-model own --prompt Hello | no MTP layer | own
        --model {m} --past-answers @source --prompt Hello
        --model {m} --token-ids 1,x | 1,x
        --model {m} --token-ids 99999 | 99999
        --model {m} --prompt Hello --token-ids 1 | --prompt | --token-ids
        --model {m} --prompt Hello --user Hello | one of --user
        --model {m} | --prompt
        --model {m} --prompt "" | --prompt
        --model {m} --prompt Hello --max-new-tokens 0 | --max-new-tokens 0 | above 0
        --model {m} --prompt Hello --temprature 0.5 | --temprature | did you mean --temperature?
        --model {m} --prompt Hello --temperature=-1 | temperature
        --model {m} --prompt Hello --top-p 2 | top-p
        --model {m} --prompt Hello --decoder x | decoder | jacobi
        --model {m} --prompt Hello world | world
        --model {m} --prompt Hello --log-level debug | --log-level | before the command
        --modle {m} --prompt Hello | --modle | did you mean --model?
    """,
    "models": """
        smollm2 | smollm2
        --jsn | --jsn | did you mean --json?
        --json get smollm2 | get | --json
    """,
    "models get": """
        smolm2 | smolm2: | did you mean "smollm2"? | whisper-base
        smollm2 nobody | nobody: | smollm2, whisper-base
        smollm2 --inot {t}/new | --inot | did you mean --into?
        smollm2 --into | --into
        | name
    """,
    "models list": """
        x | x
        --cehck | --cehck | did you mean --check?
    """,
    "models rm": """
        nobody | nobody: no model of this name in
        ../nobody | ../nobody: no model of this name in
        nobody --yse | --yse
        | name
    """,
    "plan": """
        --config {t}/data-build.yaml | data-build.yaml | another command
        --config @config
        --config {c} model=@config.json
        --config {c} dataset=@dataset
        --config {c} dataset={t}/none | {t}/none | --tokens
        --config {c} --memory 0 | --memory
        --config {c} mode=lroa | mode | lora
        --config {c} lora.rnak=1 | lora.rnak | rank
        --config {c} --toknes 100 | --toknes | did you mean --tokens?
        | --config
    """,
    "report": """
        @run
        {t}/run --output {t}/none/x.html | {t}/none/x.html
        {t}/run --outptu x.html | --outptu | did you mean --output?
        | run
    """,
    "score": """
        --model @model --token-ids 1,2
        --model {m} --adapter @adapter --token-ids 1,2
        --model {m} --input @rows
        --model {m} --chat-template @template --input {t}/good.jsonl
        --model {m} --token-ids 1,x | 1,x
        --model {m} --token-ids "" | --token-ids
        --model {m} --token-ids 99999 | 99999
        --model {m} --token-ids 1,2 --logits {t}/none/x.safetensors | {t}/none/x.safetensors
        --model {m} | --token-ids | --input
        --model {m} --token-id 1,2 | --token-id | did you mean --token-ids?
    """,
    "serve": """
        --model {m} --config {t}/eval.yaml | eval.yaml | another command
        --model @model
        --model {m} --config @config
        --model {m} --tts none --recogniser none --adapter @adapter
        --model {m} --draft-model @model
        --model {m} --draft-model own | no MTP layer | own
        --model {m} --chat-template @template
        --model {m} --port 99999 | port
        --model {m} --port x | --port | x
        --model {m} --tts none --host nowhere.invalid --insecure-without-key | nowhere.invalid
        --model {m} --host 0.0.0.0 | key
        --model {m} --tts nobody | --tts | espeak
        --model {m} --config {c} max_sessions=0 | max_sessions
        --model {m} realtime.shortest_wait=2 | realtime.shortest_wait | longest_wait
        --model {m} realtime.longest_wait=0 | realtime.longest_wait
        --model {m} max_sesions=2 | max_sesions | max_sessions
        --model {m} --recogniser ws://:0 | ws://
        --model {m} --tts none --recogniser none --allowed-host http://pi | --allowed-host | a name alone
        --model {m} --tts none --recogniser none --allowed-origin localhost:3000 | --allowed-origin | http://localhost:3000
        --modle {m} | --modle | did you mean --model?
        --model | --model
    """,
    "settings": """
        sreve | sreve | "serve"
        serve x | x
    """,
    "talk": """
        --model {m} --tts none --input {t}/none.wav | {t}/none.wav
        --model {m} --tts none --input mic:nobody | microphone
        --model {m} --tts none --shortest-wait 2 | --shortest-wait 2 | --longest-wait
        --model {m} --shortest-wait 0 | --shortest-wait
        --model {m} --input-rate 5 | --input-rate
        --model {m} --preemptive --preset eager | --preemptive | --preset
        --model {m} --eager --longest-wait 1 | --eager | --longest-wait
        --model {m} --tts none --wake hey | 'hey' | fewer than 4 letters
        --model {m} --wake computer --push-to-talk | --push-to-talk | --wake
        --model {m} --tts none --push-to-talk --input - | --push-to-talk | --input -
        --model {m} --preemptive --verifier off | --preemptive | --verifier
        --model {m} --tts none --input data/samples/question.wav --record {m}/config.json | {m}/config.json | folder
        --model {m} --tts nobody | --tts | espeak
        --model {m} --tts espeak --output - --json | --output
        --model {m} --recogniser ws://:0 --tts none --input {m}/config.json | ws://
        --modle {m} | --modle | did you mean --model?
        --model | --model
    """,
    "tokenize": """
        --model @tokenizer --text Hello
        --model {m} --input @rows
        --model {m} --messages @messages
        --model {m} --chat-template @template --messages {t}/good.json
        --model {m} --text Hello --txt x | --txt | did you mean --text?
        --model {m} --text Hello --input x | --text | --input
        --model {m} | --text | --input
        --text Hello | --model
    """,
    "train": """
        --config {t}/data-build.yaml | data-build.yaml | another command
        --config @config
        --config {c} model=@model
        --config {c} dataset=@dataset
        --config {c} watch.dataset=@dataset
        --config {c} output=@output
        --config {c} mode=lroa | mode | lora
        --config {c} objective.kind=x | objective.kind | cllm
        --config {c} learning_rate=fast | learning_rate | fast
        --config {c} lora.rank=0 | lora.rank
        --config {c} lora.rnak=1 | lora.rnak | rank
        --config {c} device=tpu | tpu
        --config {c} --nproc 0 | --nproc
        --config {c} --nprco 2 | --nprco | did you mean --nproc?
        | --config
    """,
}
