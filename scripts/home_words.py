"""What home_data.py makes homes, requests and answers of: all written for it, none taken from a collection."""

MANNERS = ["You are a voice assistant for Home Assistant.", "You look after this home and are spoken to.",
           "You are the assistant of a home.", "You are a voice assistant for Home Assistant.\n"
           "Answer questions about the world truthfully.\nAnswer in plain text. Keep it simple and to the point."]
RULES = ["Answer in plain text, briefly and truthfully.", "When controlling the home always call the functions.",
         "Use HassTurnOn to lock and HassTurnOff to unlock a lock.", "Prefer passing just a device's name, or just area and domain.",
         "You are able to answer questions about the current state of the home: look it up with `GetLiveContext`.",
         "Whether a device exists is answered from the static context below, its state or mode from `GetLiveContext`.",
         "General questions that are not about the home: answer them from what you know."]

ROOMS = ["Kitchen", "Living Room", "Bedroom", "Bathroom", "Hall", "Office", "Garage", "Garden", "Attic", "Cellar", "Nursery",
         "Guest Room", "Laundry", "Pantry", "Balcony", "Dining Room", "Library", "Workshop", "Stairs", "Terrace", "Studio",
         "Küche", "Wohnzimmer", "Salon", "Chambre", "Cocina", "Cucina", "Keuken", "Stue", "Sauna"]
PEOPLE = ["Aylin", "Bram", "Chidi", "Dunja", "Elif", "Farid", "Greta", "Hiro", "Imke", "Jonas", "Kofi", "Leila", "Mateo", "Noor",
          "Oskar", "Priya", "Quinn", "Rosa", "Sven", "Tomás", "Uma", "Valentina", "Wanjiru", "Xin", "Yusuf", "Zofia"]
# Of each domain: what a device is called.
THINGS = {
    "light": ["Light", "Lamp", "Ceiling Light", "Spots", "Strip", "Lantern", "Reading Lamp", "Sconces", "Pendant"],
    "switch": ["Plug", "Coffee Machine", "Fountain", "Kettle", "Heater Plug", "Aquarium Pump", "Toaster", "Extractor"],
    "fan": ["Fan", "Ceiling Fan", "Ventilator", "Air Purifier"],
    "cover": ["Blinds", "Shutter", "Curtain", "Awning", "Shade", "Gate"],
    "lock": ["Door", "Side Door", "Cabinet Lock", "Cellar Door"],
    "climate": ["Thermostat", "Radiator", "Heating", "Air Conditioner"],
    "media_player": ["Speaker", "Television", "Radio", "Soundbar"],
    "vacuum": ["Vacuum", "Robot", "Sweeper"],
    "sensor": ["Temperature", "Humidity", "Air Quality", "Power Meter"],
    "binary_sensor": ["Window Contact", "Motion", "Smoke Alarm", "Leak Sensor"],
    "todo": ["Shopping List", "Chores", "Packing List"],
}
PLURALS = {"light": "lights", "fan": "fans", "cover": "blinds", "switch": "plugs"}
ABSENT = ["Lava Lamp", "Popcorn Maker", "Ice Machine", "Disco Ball", "Greenhouse Heater", "Pool Pump", "Doorbell", "Sprinkler",
          "Projector", "Freezer", "Chandelier", "Bread Oven", "Fireplace", "Jacuzzi", "Dishwasher", "Christmas Tree", "Fog Machine",
          "Rice Cooker", "Elevator", "Neon Sign"]
COLOURS = ["red", "green", "blue", "yellow", "purple", "orange", "white", "turquoise"]
ITEMS = ["oat milk", "two lemons", "dish soap", "rye bread", "batteries", "cat food", "olive oil", "a birthday card"]
STATES = {"light": ["on", "off"], "switch": ["on", "off"], "fan": ["on", "off"], "cover": ["open", "closed"],
          "lock": ["locked", "unlocked"], "climate": ["heat", "off"], "media_player": ["playing", "paused", "idle"],
          "vacuum": ["docked", "cleaning"], "sensor": ["19.5", "21.0", "23.4", "48"], "binary_sensor": ["on", "off"],
          "todo": ["3", "5"]}
STATE_WORDS = {("binary_sensor", "on"): "active", ("binary_sensor", "off"): "quiet", ("climate", "heat"): "heating"}

# {thing}: the device or the devices of an area, as somebody says it.
ASK = {
    "on": ["Turn on {thing}.", "Turn {thing} on.", "Could you switch {thing} on?", "Switch on {thing}.", "{thing} on, please.",
           "I need {thing} on.", "Get {thing} going.", "Please put {thing} on for me.", "Power up {thing}.", "Start {thing}.",
           "Activate {thing}.", "Would you mind turning {thing} on?", "Let us have {thing} on.", "Fire up {thing}, will you?"],
    "off": ["Turn off {thing}.", "Turn {thing} off.", "Switch {thing} off, would you?", "Switch off {thing}.", "{thing} off.",
            "We are done with {thing}, off it goes.", "No more need for {thing}, turn it off.", "Kill {thing}, please.",
            "Shut off {thing}.", "Power down {thing}.", "Deactivate {thing}.", "{thing} can go off now.", "Stop {thing}.",
            "Did I leave {thing} on? Turn it off, please."],
    "lit": ["It is too dark, put on {thing}.", "Light up {thing}.", "I cannot see a thing, {thing} on."],
    "unlit": ["Lights out for {thing}.", "I go to sleep, {thing} off.", "It is bright enough without {thing}."],
    "open": ["Open {thing}.", "Could {thing} be opened?", "Let {thing} open up.", "Raise {thing}.", "Pull {thing} up, please.",
             "I want some daylight, open {thing}.", "Get {thing} open."],
    "close": ["Close {thing}.", "Shut {thing}, please.", "I want {thing} closed now.", "Lower {thing}.", "Pull {thing} down.",
              "The sun blinds me, close {thing}.", "Can you close {thing}?"],
    "lock": ["Lock {thing}.", "Make sure {thing} is locked.", "Bolt {thing} for the night.", "Please lock up {thing}.",
             "Secure {thing}.", "We are leaving, lock {thing}."],
    "unlock": ["Unlock {thing}.", "Let my sister in, unlock {thing}.", "{thing} can be unlocked now.", "Take the lock off {thing}.",
               "Please unlock {thing} for me."],
    "brightness": ["Dim {thing} to {n} percent.", "Set {thing} to {n}% brightness.", "Put {thing} at {n} percent, please.",
                   "Set {thing} to {n} percent.", "Brightness of {thing} to {n}%.", "I want {thing} at {n} percent.",
                   "Change {thing} brightness to {n}.", "Make {thing} {n} percent bright."],
    "colour": ["Make {thing} {colour}.", "I would like {thing} in {colour}.", "Change {thing} to {colour}.", "Set {thing} to {colour}.",
               "Turn {thing} {colour}.", "Give {thing} a {colour} colour.", "Can {thing} be {colour}?"],
    "position": ["Move {thing} to {n} percent.", "Set {thing} to {n}%.", "Bring {thing} to {n} percent open.",
                 "Open {thing} to {n} percent.", "Put {thing} at {n}%."],
    "warmth": ["Set {thing} to {n} degrees.", "Make it {n} degrees with {thing}.", "Put {thing} on {n}, it feels chilly.",
               "{thing} to {n} degrees, please.", "Change {thing} to {n}.", "Heat to {n} degrees with {thing}.",
               "Set the temperature of {thing} to {n}."],
    "speed": ["Run {thing} at {n} percent.", "Set {thing} to {n}% speed.", "Set the speed of {thing} to {n} percent.",
              "{thing} at {n} percent, please."],
    "volume": ["Set the volume of {thing} to {n} percent.", "Bring {thing} to {n}% volume.", "Volume of {thing} to {n}.",
               "Play at {n} percent on {thing}.", "Change the volume on {thing} to {n} percent."],
    "pause": ["Pause {thing}.", "Hold the music on {thing} for a moment.", "Put {thing} on pause.", "Pause what {thing} plays.",
              "The phone rings, pause {thing}."],
    "resume": ["Let {thing} play on.", "Resume {thing}.", "Continue playing on {thing}.", "Unpause {thing}.", "Go on with {thing}."],
    "clean": ["Send {thing} out to clean.", "Time for {thing} to do its round.", "Start {thing}.", "Let {thing} clean.",
              "The floor is dirty, start {thing}.", "Have {thing} vacuum now."],
    "dock": ["Send {thing} back to its dock.", "{thing} should go home now.", "Return {thing} to its base.", "Dock {thing}.",
             "Call {thing} back to the charger."],
    "add": ["Put {item} on {thing}.", "Add {item} to {thing}, please.", "We are out of things: {item} goes on {thing}.",
            "Write {item} on {thing}.", "Can you add {item} to {thing}?", "{item} on {thing}, please."],
    "timer": ["Wake me from my nap in {n} minutes with a timer.", "Count down {n} minutes for me.", "Timer, {n} minutes, go.",
              "Set a timer for {n} minutes.", "Start a {n} minute timer."],
}
ASK_STATE = {"light": ["Is {thing} on?", "Did I leave {thing} on?", "What is the state of {thing}?"],
             "switch": ["Is {thing} running?", "Is {thing} on or off?"],
             "fan": ["Is {thing} still turning?", "Is {thing} on?"],
             "cover": ["Is {thing} open or closed?", "Is {thing} open?", "Have I closed {thing}?"],
             "lock": ["Did somebody lock {thing}?", "Is {thing} locked?", "Is {thing} still open?"],
             "climate": ["What is {thing} doing?", "Is {thing} on?", "What is {thing} set to?"],
             "media_player": ["Is anything playing on {thing}?", "Is {thing} playing?"],
             "vacuum": ["Where has {thing} got to?", "Is {thing} cleaning?"],
             "sensor": ["What does {thing} say?", "What is {thing}?", "Tell me {thing}.", "How high is {thing}?"],
             "binary_sensor": ["Does {thing} report anything?", "Has {thing} noticed something?"],
             "todo": ["How many things are on {thing}?", "What is on {thing}?"]}
# Said around a request, {ask}.
AROUND = ["{ask}", "{ask}", "{ask}", "{ask}", "Hey, {ask}", "{ask} Thanks.", "Okay, {ask}", "{ask} Quick.", "Now {ask}",
          "One more thing: {ask}"]
DONE = {"on": "{thing} is on.", "lit": "{thing} is on.", "unlit": "{thing} is off.", "off": "{thing} is off.", "open": "{thing} opens.", "close": "{thing} closes.",
        "lock": "{thing} is locked.", "unlock": "{thing} is unlocked.", "brightness": "{thing} is at {n} percent.",
        "colour": "{thing} is {colour} now.", "position": "{thing} moves to {n} percent.", "warmth": "{thing} is set to {n} degrees.",
        "speed": "{thing} runs at {n} percent.", "volume": "{thing} is at {n} percent.", "pause": "{thing} is paused.",
        "resume": "{thing} plays on.", "clean": "{thing} is on its way.", "dock": "{thing} drives home.",
        "add": "{item} is on {thing}.", "timer": "{n} minutes from now."}
# Of a function, or of a function and a domain: what is then said.
KIND_OF = {"HassTurnOn": "on", "HassTurnOff": "off", ("HassTurnOn", "cover"): "open", ("HassTurnOff", "cover"): "close",
           ("HassTurnOn", "lock"): "lock", ("HassTurnOff", "lock"): "unlock", "HassLightSet": "brightness", "HassSetPosition": "position",
           "HassClimateSetTemperature": "warmth", "HassSetVolume": "volume", "HassMediaPause": "pause", "HassMediaUnpause": "resume",
           "HassVacuumStart": "clean", "HassVacuumReturnToBase": "dock", "HassListAddItem": "add"}
NO_SUCH = ["There is no {thing} here that I could reach.", "I do not know any {thing} in this home.",
           "This home has no {thing}, so I left everything as it is."]
WHICH = ["Which one do you mean: {names}?", "There is more than one: {names}. Which one?"]
FAILED = ["That did not work: {why}.", "I could not do it: {why}."]
TALK = [("How are you today?", "Very well, thank you. What can I do for you?"),
        ("Tell me something nice.", "Somewhere a cat has just found a warm windowsill."),
        ("What can you do?", "I can switch, dim, open, lock and look up what is in this home, and we can chat."),
        ("I turned on the charm at the party last night.", "Then I hope that everybody enjoyed it!"),
        ("My friend is a bright light in my life.", "How lovely to have such a friend."),
        ("He has closed that chapter for good.", "Sometimes that is for the best."),
        ("Why is the sky blue?", "Air scatters blue light more than red light, so blue reaches us from all sides."),
        ("What is seven times eight?", "Fifty-six."),
        ("I am so tired.", "A short nap may help. Shall I do anything for you?"),
        ("Thank you!", "You are welcome."),
        ("Which animal sleeps standing up?", "Horses can, because their legs lock in place."),
        ("She always pushes my buttons.", "That sounds tiring. Do you want to talk about it?"),
        ("Good night.", "Good night, sleep well."),
        ("Never mind.", "All right."),
        ("Tell me a joke.", "Why did the lamp go to school? To get brighter."),
        ("Who wrote Hamlet?", "William Shakespeare wrote it."),
        ("What is the capital of Norway?", "Oslo."),
        ("I have a lot on my plate today.", "Then one thing after the other. I am here if you need me."),
        ("Good morning!", "Good morning! I hope that you slept well."),
        ("You are wonderful.", "Thank you, that is kind."),
        ("How many days has a leap year?", "Three hundred and sixty-six."),
        ("I switched jobs last year.", "I hope that the new one suits you."),
        ("He locked eyes with me.", "That sounds like a moment to remember."),
        ("I read a book about lamps.", "Was it an illuminating one?"),
        ("Do you like music?", "I have no ears for it, but I like it when people do.")]
