"""What home_data.py makes homes, requests and answers of: all written for it, none taken from a collection."""

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
          "Projector", "Freezer", "Chandelier", "Bread Oven"]
COLOURS = ["red", "green", "blue", "yellow", "purple", "orange", "white", "turquoise"]
ITEMS = ["oat milk", "two lemons", "dish soap", "rye bread", "batteries", "cat food", "olive oil", "a birthday card"]
STATES = {"light": ["on", "off"], "switch": ["on", "off"], "fan": ["on", "off"], "cover": ["open", "closed"],
          "lock": ["locked", "unlocked"], "climate": ["heat", "off"], "media_player": ["playing", "paused", "idle"],
          "vacuum": ["docked", "cleaning"], "sensor": ["19.5", "21.0", "23.4", "48"], "binary_sensor": ["on", "off"],
          "todo": ["3", "5"]}
STATE_WORDS = {("binary_sensor", "on"): "active", ("binary_sensor", "off"): "quiet", ("climate", "heat"): "heating"}

# {thing}: the device or the devices of an area, as somebody says it.
ASK = {
    "on": ["Turn on {thing}.", "Could you switch {thing} on?", "{thing} on, please.", "I need {thing} on.", "Get {thing} going.",
           "Please put {thing} on for me."],
    "off": ["Turn off {thing}.", "Switch {thing} off, would you?", "{thing} off.", "We are done with {thing}, off it goes.",
            "No more need for {thing}, turn it off.", "Kill {thing}, please."],
    "open": ["Open {thing}.", "Could {thing} be opened?", "Let {thing} open up."],
    "close": ["Close {thing}.", "Shut {thing}, please.", "I want {thing} closed now."],
    "lock": ["Lock {thing}.", "Make sure {thing} is locked.", "Bolt {thing} for the night."],
    "unlock": ["Unlock {thing}.", "Let my sister in, unlock {thing}.", "{thing} can be unlocked now."],
    "brightness": ["Dim {thing} to {n} percent.", "Set {thing} to {n}% brightness.", "Put {thing} at {n} percent, please."],
    "colour": ["Make {thing} {colour}.", "I would like {thing} in {colour}.", "Change {thing} to {colour}."],
    "position": ["Move {thing} to {n} percent.", "Set {thing} to {n}%.", "Bring {thing} to {n} percent open."],
    "warmth": ["Set {thing} to {n} degrees.", "Make it {n} degrees with {thing}.", "Put {thing} on {n}, it feels chilly."],
    "speed": ["Run {thing} at {n} percent.", "Set {thing} to {n}% speed."],
    "volume": ["Set the volume of {thing} to {n} percent.", "Bring {thing} to {n}% volume."],
    "pause": ["Pause {thing}.", "Hold the music on {thing} for a moment."],
    "resume": ["Let {thing} play on.", "Resume {thing}."],
    "clean": ["Send {thing} out to clean.", "Time for {thing} to do its round."],
    "dock": ["Send {thing} back to its dock.", "{thing} should go home now."],
    "add": ["Put {item} on {thing}.", "Add {item} to {thing}, please.", "We are out of things: {item} goes on {thing}."],
    "timer": ["Wake me from my nap in {n} minutes with a timer.", "Count down {n} minutes for me.", "Timer, {n} minutes, go."],
}
ASK_STATE = {"light": "Is {thing} on?", "switch": "Is {thing} running?", "fan": "Is {thing} still turning?",
             "cover": "Is {thing} open or closed?", "lock": "Did somebody lock {thing}?", "climate": "What is {thing} doing?",
             "media_player": "Is anything playing on {thing}?", "vacuum": "Where has {thing} got to?",
             "sensor": "What does {thing} say?", "binary_sensor": "Does {thing} report anything?",
             "todo": "How many things are on {thing}?"}
DONE = {"on": "{thing} is on.", "off": "{thing} is off.", "open": "{thing} opens.", "close": "{thing} closes.",
        "lock": "{thing} is locked.", "unlock": "{thing} is unlocked.", "brightness": "{thing} is at {n} percent.",
        "colour": "{thing} is {colour} now.", "position": "{thing} moves to {n} percent.", "warmth": "{thing} is set to {n} degrees.",
        "speed": "{thing} runs at {n} percent.", "volume": "{thing} is at {n} percent.", "pause": "{thing} is paused.",
        "resume": "{thing} plays on.", "clean": "{thing} is on its way.", "dock": "{thing} drives home.",
        "add": "{item} is on {thing}.", "timer": "{n} minutes from now."}
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
        ("Do you like music?", "I have no ears for it, but I like it when people do.")]
