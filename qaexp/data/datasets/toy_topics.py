"""The word tables of the toy corpus: what people ask about, what they need, and how askers and answerers name both.

Every need of a topic makes sense for every thing of it, so each (thing, need) is one fact that can be asked for and answered. Askers
and answerers mostly use different words. `{}` stands for the thing's name; all names of a topic have the same grammatical number.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wordings:
    """One thing or one need: `asked` as questions put it, `answered` as answers do."""

    asked: tuple[str, ...]
    answered: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """Things and needs that combine freely."""

    mention: str
    """How a thing is named in passing: with an article, or as it stands."""
    things: tuple[Wordings, ...]
    needs: tuple[Wordings, ...]


BICYCLES = Topic(
    mention="the {}",
    things=(
        Wordings(("chain", "bike chain"), ("drivetrain", "set of links")),
        Wordings(("saddle", "bike saddle"), ("seat", "padded seat")),
        Wordings(("derailleur", "shifter"), ("gear changer", "gear mechanism")),
        Wordings(("brake", "disc brake"), ("caliper", "rotor")),
        Wordings(("wheel", "front wheel"), ("rim", "spoked rim")),
        Wordings(("handlebar", "drop bar"), ("cockpit", "steering unit")),
        Wordings(("pedal", "clip-in pedal"), ("foot platform", "crank platform")),
        Wordings(("fork", "front suspension"), ("shock absorber", "damper")),
    ),
    needs=(
        Wordings(
            (
                "Why does my {} squeak on every ride?",
                "How do I get rid of the creaking from my {}?",
                "My {} makes an awful noise, what now?",
            ),
            (
                "A drop of light oil on the {} will silence it, but wipe away the excess.",
                "Such a squeak means dry metal, so grease the {} and it will go quiet.",
                "Put some lubricant on the {} until everything runs silently again.",
            ),
        ),
        Wordings(
            (
                "What can I do when my {} keeps coming loose?",
                "My {} wobbles over bumps, any advice?",
                "Why is my {} so shaky after a month?",
            ),
            (
                "Take an Allen key and tighten the bolts on the {} to the printed torque.",
                "Snug up the screws that hold the {}, and add a little thread glue.",
                "Bolts come loose over time, so tighten the {} with a torque wrench.",
            ),
        ),
        Wordings(
            (
                "What is the best way to clean my {}?",
                "How do I get the dried mud off my {}?",
                "My {} is filthy after the trail, what helps?",
            ),
            (
                "Scrub the {} with an old toothbrush and warm soapy water, then dry it.",
                "Degreaser, a stiff brush and a quick rinse will have the {} shining again.",
                "Spray degreaser on the {}, scrub until it looks clean, and rinse with a hose.",
            ),
        ),
        Wordings(
            ("How much does a new {} cost?", "What is a fair price for a replacement {}?", "How expensive will it be to replace my {}?"),
            (
                "Expect to pay around forty dollars for the {}, plus half an hour of labour.",
                "Budget about sixty dollars if the shop supplies the {} and fits it.",
                "The cost depends on your dealer, who billed me fifty dollars for the {}.",
            ),
        ),
        Wordings(
            ("Is it worth upgrading to a lighter {}?", "Would a lighter {} make me faster?", "Should I upgrade my {} before the race?"),
            (
                "Carbon saves a few grams, but only professionals notice, so leave the {} as it is.",
                "You would hardly feel those grams, so hold on to the {} and train more.",
                "A lighter {} of carbon wins seconds for professionals, yet amateurs gain nothing.",
            ),
        ),
        Wordings(
            ("How do I protect my {} from rust in winter?", "There is rust on my {}, how can I prevent more?", "Will my {} rust outdoors?"),
            (
                "Coat the {} with wax before the wet season, and corrosion will have no chance.",
                "Salt is the enemy, so wax the {} and park under a roof.",
                "A thin film of wax shields the {} against rust and road salt.",
            ),
        ),
    ),
)

GARDENING = Topic(
    mention="the {}",
    things=(
        Wordings(("lawn", "grass"), ("turf", "sod")),
        Wordings(("rose", "rose bush"), ("thorny shrub", "flowering shrub")),
        Wordings(("cactus", "potted cactus"), ("succulent", "desert plant")),
        Wordings(("apple tree", "old apple tree"), ("fruit tree", "garden fruit tree")),
        Wordings(("ivy", "common ivy"), ("climber", "creeping vine")),
        Wordings(("basil", "sweet basil"), ("herb", "kitchen herb")),
        Wordings(("hedge", "boxwood hedge"), ("evergreen screen", "living fence")),
        Wordings(("tulip bed", "row of tulips"), ("bulb display", "spring bulb patch")),
    ),
    needs=(
        Wordings(
            (
                "How often should I water my {} in summer?",
                "How many times a week does my {} need watering?",
                "Is my {} getting too much water?",
            ),
            (
                "Give the {} a deep soak in the morning, but only once the soil feels dry.",
                "Push a finger into the soil, and water the {} when it feels dry.",
                "Let the hose run on the {} only when the earth is dry an inch down.",
            ),
        ),
        Wordings(
            (
                "How do I get rid of the bugs on my {}?",
                "Something is eating my {}, what can I do?",
                "There are tiny insects all over my {}, help!",
            ),
            (
                "Spray the {} with diluted soap, since aphids and caterpillars cannot stand it.",
                "Ladybirds will clear the aphids from the {} without any chemicals.",
                "Pick the bugs off the {} by hand, and try neem oil on caterpillars.",
            ),
        ),
        Wordings(
            ("Why is my {} turning yellow?", "My {} looks pale and sickly, what is wrong?", "What makes my {} so yellow this year?"),
            (
                "That is a lack of nitrogen, so feed the {} with a balanced fertiliser.",
                "The yellow colour means hunger, so give the {} a fertiliser with iron.",
                "Feed the {} with compost, because it lacks iron and nitrogen.",
            ),
        ),
        Wordings(
            ("When is the right time to cut back my {}?", "My {} is far too tall, can I cut it?", "How short can I trim my {}?"),
            (
                "Late February is ideal: take sharp shears and prune the {} by a third.",
                "Prune the {} by a third at most, on a dry day and with sharp shears.",
                "Cut the {} with clean shears on a dry day before the growing season.",
            ),
        ),
        Wordings(
            ("How do I protect my {} from frost?", "Will my {} survive a freezing night?", "Does my {} need protection when it freezes?"),
            (
                "Cover the {} with fleece in the evening, and take it off when the thermometer climbs.",
                "When frost is near, a layer of straw keeps the {} warm until April.",
                "Wrap the {} in fleece or straw as soon as the thermometer drops.",
            ),
        ),
        Wordings(
            ("Will my {} grow in the shade?", "Where should I plant my {}, in sun or shade?", "How much sun does my {} want?"),
            (
                "Six hours of direct light is ideal for the {}, so choose a spot facing south.",
                "Choose a bright spot facing south, where the {} gets light all afternoon.",
                "Full sun is best for the {}, away from walls that block the light.",
            ),
        ),
    ),
)

CLOTHES = Topic(
    mention="the {}",
    things=(
        Wordings(("sweater", "jumper"), ("pullover", "knitwear")),
        Wordings(("raincoat", "anorak"), ("waterproof jacket", "rain shell")),
        Wordings(("dress", "evening dress"), ("gown", "frock")),
        Wordings(("shirt", "cotton shirt"), ("button-up", "collared top")),
        Wordings(("hat", "cap"), ("headgear", "headwear")),
        Wordings(("suit", "business suit"), ("formal outfit", "two-piece")),
        Wordings(("scarf", "shawl"), ("wrap", "neck warmer")),
        Wordings(("tie", "necktie"), ("neckwear", "knotted neckwear")),
    ),
    needs=(
        Wordings(
            ("How do I get a stain out of my {}?", "I spilled red wine on my {}, what now?", "Can I save my {} after a coffee spill?"),
            (
                "Dab the {} with cold vinegar straight away, and the mark will lift.",
                "Rub baking soda into the mark, wait an hour, and rinse the {}.",
                "Treat the stain on the {} with baking soda and vinegar, then rinse.",
            ),
        ),
        Wordings(
            ("My {} shrank in the wash, can it be rescued?", "How can I make my {} bigger again?", "Why did my {} shrink and what helps?"),
            (
                "Soak the {} in hair conditioner and gently pull it back to its old size.",
                "Hair conditioner relaxes the fibres, so stretch the {} while it is damp.",
                "After a hot wash, stretch the {} over a towel while it is damp.",
            ),
        ),
        Wordings(
            ("Why does my {} still smell after washing?", "My {} smells of smoke, what helps?", "How do I get a bad smell out of my {}?"),
            (
                "Hang the {} outdoors overnight, as fresh air carries off any odour.",
                "A night on the balcony takes the smell out of the {} better than any perfume.",
                "Fresh air is free, so leave the {} on the balcony until the odour is gone.",
            ),
        ),
        Wordings(
            ("How can I fix a small hole in my {}?", "I tore my {} on a nail, is it lost?", "There is a hole in my {}, can I repair it?"),
            (
                "A needle and matching thread will mend the {} in ten minutes.",
                "Iron a patch on the inside of the {}, and nobody will see the damage.",
                "Sew a patch over the hole in the {}, or ask a tailor to mend it.",
            ),
        ),
        Wordings(
            (
                "How do I get the wrinkles out of my {}?",
                "My {} is badly creased, what can I do?",
                "How can I remove creases from my {} quickly?",
            ),
            (
                "Let the {} hang in a steamy bathroom while you shower, and it will be smooth.",
                "A hot shower fills the bathroom with steam, which leaves the {} smooth.",
                "Steam removes wrinkles, so hold the {} over a kettle until it is smooth.",
            ),
        ),
        Wordings(
            ("How do I keep my {} from fading?", "The colour of my {} gets duller, why?", "What stops my {} from losing its colour?"),
            (
                "Turn the {} inside out and choose a cold cycle, which spares the dye.",
                "Strong sunshine takes the colour out of the {}, so dry it indoors.",
                "A cold cycle with mild detergent is gentle on the dye of the {}.",
            ),
        ),
    ),
)

COMPUTERS = Topic(
    mention="the {}",
    things=(
        Wordings(("laptop", "notebook"), ("portable computer", "portable machine")),
        Wordings(("phone", "cell phone"), ("handset", "smartphone")),
        Wordings(("tablet", "iPad"), ("slate", "touchscreen slate")),
        Wordings(("TV", "television"), ("big screen", "flat screen")),
        Wordings(("router", "wireless router"), ("access point", "network hub")),
        Wordings(("smartwatch", "Apple Watch"), ("wearable", "wrist tracker")),
        Wordings(("console", "game console"), ("gaming system", "PlayStation")),
        Wordings(("Kindle", "e-reader"), ("ebook device", "digital book")),
    ),
    needs=(
        Wordings(
            ("Why has my {} become so slow?", "My {} freezes every few minutes, what is wrong?", "How can I speed up my slow {}?"),
            (
                "Restart the {} and free some memory, and it will respond quickly again.",
                "The memory is full, so delete what you can and restart the {}.",
                "Full memory makes the {} slow, so delete old caches once a month.",
            ),
        ),
        Wordings(
            ("Why does my {} get so hot?", "My {} is burning hot, is that dangerous?", "How do I keep my {} from overheating?"),
            (
                "Move the {} out of the sun and let it cool down before you go on.",
                "Air must flow around the {}, so never cover it, and let it cool down.",
                "Any {} gets hot in a cupboard, so place it where air can flow.",
            ),
        ),
        Wordings(
            ("My {} will not turn on, what can I try?", "Why does my {} stay black?", "Is my {} dead, or can it be turned on?"),
            (
                "Hold the main switch of the {} for thirty seconds, and it should boot.",
                "A faulty adapter is the usual cause, so borrow another and see whether the {} boots.",
                "Charge the {} with another adapter, then turn it on and wait for the logo.",
            ),
        ),
        Wordings(
            ("Why can my {} not connect to the internet?", "My {} keeps losing the wifi, any ideas?", "How do I fix the wifi of my {}?"),
            (
                "Forget the network, type the password once more, and the {} will be back online.",
                "Walls weaken the wifi signal, so carry the {} to another room to get online.",
                "Enter the password again and check the signal, then the {} should come online.",
            ),
        ),
        Wordings(
            ("What should I do before I sell my {}?", "How do I erase my private data from my {}?", "Can I give my old {} to a stranger?"),
            (
                "Sign out of every account, then run a factory reset so that the {} is empty.",
                "A factory reset removes your private data, and the {} is ready for its next owner.",
                "Copy your files, sign out, and reset the {} for the next owner.",
            ),
        ),
        Wordings(
            ("How can I protect my {} from hackers?", "Could somebody hack into my {}?", "Is my {} safe from viruses?"),
            (
                "Install each security update and set a long passcode, and nobody can enter the {}.",
                "Hackers love outdated software, so keep the {} updated and locked with a passcode.",
                "Choose a passcode that is hard to guess, and let the {} install security updates.",
            ),
        ),
    ),
)

PETS = Topic(
    mention="the {}",
    things=(
        Wordings(("dog", "puppy"), ("hound", "canine")),
        Wordings(("cat", "kitten"), ("feline", "tabby")),
        Wordings(("rabbit", "bunny"), ("long-eared friend", "burrower")),
        Wordings(("parrot", "grey parrot"), ("bird", "feathered friend")),
        Wordings(("hamster", "golden hamster"), ("rodent", "small rodent")),
        Wordings(("tortoise", "turtle"), ("reptile", "shelled reptile")),
        Wordings(("ferret", "pet ferret"), ("polecat", "little weasel")),
        Wordings(("hedgehog", "pet hedgehog"), ("spiny animal", "spiny companion")),
    ),
    needs=(
        Wordings(
            ("Why has my {} stopped eating?", "My {} refuses its food, should I worry?", "What if my {} does not eat at all?"),
            (
                "Loss of appetite often means stress, so tempt the {} with a favourite treat.",
                "Offer the {} a favourite treat, and call the vet if its appetite stays away.",
                "Eating little is common in hot weather, so tempt the {} with a juicy treat.",
            ),
        ),
        Wordings(
            ("How do I stop my {} from biting me?", "My {} bites my fingers, what can I do?", "Why does my {} bite when we play?"),
            (
                "Say no firmly and end the game, so that the {} learns to be gentle.",
                "Biting is a cry for attention, so walk off until the {} learns to be gentle.",
                "Leave the room at once, as the {} must learn that hurting people ends the fun.",
            ),
        ),
        Wordings(
            ("Why does my {} scratch itself all day?", "Could my {} have fleas?", "My {} is itching all over, what is it?"),
            (
                "Parasites are the likely reason, so ask for a powder and treat the {}.",
                "Check the skin of the {} for parasites, and change the bedding.",
                "Fleas live in the bedding, so replace it and dust the {} with powder.",
            ),
        ),
        Wordings(
            ("How do I take my {} on a long drive?", "How can I keep my {} calm in the car?", "Is a car trip too much for my {}?"),
            (
                "Line a roomy crate with a blanket, and let the {} get used to it.",
                "In the car, a dark blanket over the crate soothes the {} on the motorway.",
                "Put the {} in a sturdy crate and make a stop every two hours.",
            ),
        ),
        Wordings(
            ("Who can look after my {} while I am away?", "What happens to my {} during my holidays?", "Can my {} stay alone for a week?"),
            (
                "A trusted neighbour or a paid sitter should visit the {} twice daily.",
                "While you are away, hire a sitter who visits the {} and sends photos.",
                "Ask a neighbour to visit the {}, and leave the number of the vet.",
            ),
        ),
        Wordings(
            ("How can I help my {} lose weight?", "Is my {} getting too fat?", "My {} is overweight, what should I change?"),
            (
                "Smaller portions and more exercise will slim the {} down by spring.",
                "Measure the portions in grams, and make the {} run for its dinner.",
                "Skip the snacks and give the {} more exercise, and the weight will drop.",
            ),
        ),
    ),
)

MUSIC = Topic(
    mention="the {}",
    things=(
        Wordings(("guitar", "acoustic guitar"), ("six-string", "fretted instrument")),
        Wordings(("piano", "upright piano"), ("keyboard instrument",)),
        Wordings(("violin", "student violin"), ("fiddle", "bowed instrument")),
        Wordings(("flute", "concert flute"), ("silver pipe", "slender pipe")),
        Wordings(("drum kit", "drum set"), ("percussion", "percussion set")),
        Wordings(("trumpet", "valve trumpet"), ("brass horn", "brass instrument")),
        Wordings(("accordion", "button accordion"), ("squeezebox", "bellows instrument")),
        Wordings(("saxophone", "alto saxophone"), ("sax", "jazz sax")),
    ),
    needs=(
        Wordings(
            (
                "Will my {} annoy the neighbours?",
                "How can I play the {} without annoying anyone?",
                "My flatmates complain about my {}, what now?",
            ),
            (
                "Hang heavy curtains and agree on quiet hours, so that the {} disturbs nobody.",
                "Your neighbours have a right to quiet hours, so mute the {} after ten.",
                "Foam panels and heavy curtains muffle the {}, and everyone stays friends.",
            ),
        ),
        Wordings(
            ("How long does it take to learn the {}?", "Am I too old to learn the {}?", "How hard is the {} for a beginner?"),
            (
                "Half a year of daily practice gets most adults through simple songs on the {}.",
                "Most adults learn to play simple songs on the {} within six months.",
                "At any age, daily practice on the {} pays off within six months.",
            ),
        ),
        Wordings(
            ("Why does my {} sound out of tune?", "My {} sounds wrong this week, what happened?", "How do I get my {} back in tune?"),
            (
                "Humidity shifts the pitch, so have the {} adjusted by a technician.",
                "Tune the {} with an app, and adjust the pitch in small steps.",
                "Warm up the {} first, as low temperature and humidity pull the pitch down.",
            ),
        ),
        Wordings(
            ("What should I check before buying a used {}?", "Where can I buy a cheap {}?", "Is it wise to buy my {} second hand?"),
            (
                "Look for cracks, test each note, and ask for the receipt of the {}.",
                "Buy the {} from a shop you trust, and inspect it for cracks and dents.",
                "Bring a teacher along to inspect the {}, as dents lower its value.",
            ),
        ),
        Wordings(
            ("Why do my hands hurt when I play the {}?", "Can playing the {} injure my hands?", "My fingers ache from the {}, what helps?"),
            (
                "Sit upright, relax your wrists, and take a pause from the {} now and then.",
                "Your hands need a pause, so stretch your wrists before you pick up the {} again.",
                "Rest for two days, then return to the {} with relaxed wrists and a better posture.",
            ),
        ),
        Wordings(
            (
                "How do I calm down before a concert with my {}?",
                "I have stage fright with my {}, any tips?",
                "How can I perform on the {} without panic?",
            ),
            (
                "Breathe slowly, imagine a friendly audience, and begin with your best piece on the {}.",
                "Play the {} at small gatherings first, since each audience makes you braver.",
                "Before a concert, breathe deeply and trust that you know the {}.",
            ),
        ),
    ),
)

TRAVEL = Topic(
    mention="{}",
    things=(
        Wordings(("Paris", "central Paris"), ("the French capital", "the City of Light")),
        Wordings(("Rome", "central Rome"), ("the Italian capital", "the Eternal City")),
        Wordings(("London", "central London"), ("the British capital", "the city on the Thames")),
        Wordings(("New York", "New York City"), ("the Big Apple", "the city that never sleeps")),
        Wordings(("Vienna", "central Vienna"), ("the Austrian capital", "the home of Mozart")),
        Wordings(("Lisbon", "central Lisbon"), ("the Portuguese capital", "the city on the Tagus")),
        Wordings(("Athens", "central Athens"), ("the Greek capital", "the cradle of democracy")),
        Wordings(("Tokyo", "central Tokyo"), ("the Japanese capital", "the metropolis of Japan")),
    ),
    needs=(
        Wordings(
            ("Where can I find a cheap hotel in {}?", "Is there a cheap place to sleep in {}?", "Which hotel in {} do you recommend?"),
            (
                "Hostels near the university are the most affordable lodging in {}.",
                "Skip the hotel and rent a room from a family, the most affordable lodging in {}.",
                "Student hostels have clean rooms, and they are all over {}.",
            ),
        ),
        Wordings(
            ("How do I get from the airport to {}?", "Is there a bus from the airport to {}?", "What does an airport taxi to {} cost?"),
            (
                "Board the express train at the terminal, and you reach {} in half an hour.",
                "From the airport, a shuttle leaves every twenty minutes and runs straight into {}.",
                "Follow the signs to the express train, which runs from the terminal into {}.",
            ),
        ),
        Wordings(
            ("When is the best time to visit {}?", "Which month should I pick for {}?", "Is {} too hot in August?"),
            (
                "Come in May or late September, since {} is mild and less crowded then.",
                "The best season is spring, as {} is mild and less crowded then.",
                "Locals leave in summer, so enjoy {} in the mild weeks of spring instead.",
            ),
        ),
        Wordings(
            ("Where do the locals eat in {}?", "Can you recommend a restaurant in {}?", "Where do I get a good dinner in {}?"),
            (
                "Look for small taverns on the side streets of {}, and order the dish of the day.",
                "Eat where menus have no pictures, in the family taverns at the edge of {}.",
                "The covered market serves the tastiest dishes in {}, with menus on chalkboards.",
            ),
        ),
        Wordings(
            ("Is {} safe at night?", "Do I have to worry about pickpockets in {}?", "How dangerous is {} for a woman alone?"),
            (
                "Crime is low, but watch your bag in the crowds of {}.",
                "Thieves work in crowds, so carry your wallet in front when you explore {}.",
                "Pickpockets love crowds, so watch your wallet when you walk through {}.",
            ),
        ),
        Wordings(
            ("How many days do I need for {}?", "Is a weekend enough to see {}?", "How long should we stay in {}?"),
            (
                "Plan at least four nights, because the museums of {} deserve a slow pace.",
                "A weekend is too short, as the museums of {} alone deserve four nights.",
                "Four nights are the minimum in my opinion, as {} has countless museums.",
            ),
        ),
    ),
)

HOME = Topic(
    mention="the {}",
    things=(
        Wordings(("sink", "kitchen sink"), ("basin", "washbowl")),
        Wordings(("toilet", "loo"), ("lavatory", "water closet")),
        Wordings(("fridge", "freezer"), ("refrigerator", "icebox")),
        Wordings(("oven", "stove"), ("cooker", "range")),
        Wordings(("washing machine", "washer"), ("front loader", "laundry appliance")),
        Wordings(("radiator", "heater"), ("heating unit", "heating panel")),
        Wordings(("bathtub", "bath"), ("soaking tub", "enamel tub")),
        Wordings(("fireplace", "open fireplace"), ("hearth", "brick hearth")),
    ),
    needs=(
        Wordings(
            ("Why does my {} smell so bad?", "How do I get rid of the smell from my {}?", "There is a bad smell around my {}, what helps?"),
            (
                "Scrub the {} with lemon and baking soda, which chases odours away.",
                "Odours come from old residue, so scour the {} with baking soda.",
                "A bad smell comes from old residue, so scrub the {} with half a lemon.",
            ),
        ),
        Wordings(
            ("Why does my {} make a noise at night?", "My {} is so loud, what can I do?", "How do I stop the strange noise in my {}?"),
            (
                "Hums come from vibration, so level the {} and put rubber pads underneath.",
                "Rubber pads underneath the {} absorb the vibration, and you can sleep again.",
                "The noise is a vibration, so secure the {} to the floor with brackets.",
            ),
        ),
        Wordings(
            ("How do I remove a stain from my {}?", "There is a white crust on my {}, what is it?", "What takes old stains off my {}?"),
            (
                "Vinegar dissolves limescale, so wet the {} with it and wipe after an hour.",
                "That is limescale, and a cloth soaked in vinegar will free the {} of it.",
                "The stain is limescale, so lay a cloth soaked in vinegar over the {}.",
            ),
        ),
        Wordings(
            ("How many years will my {} last?", "My {} is very old, should I replace it?", "When is my {} due for replacement?"),
            (
                "Fifteen winters is a typical lifespan, so the {} will serve you a while.",
                "Fifteen years is a good lifespan, provided that the {} is serviced.",
                "Once spare parts vanish from the shops, the {} has reached the end of its lifespan.",
            ),
        ),
        Wordings(
            ("Who pays when the {} in my flat breaks?", "My {} broke, must my landlord fix it?", "Will I lose my deposit over the {}?"),
            (
                "The owner must cover repairs to the {}, unless the tenant did the damage.",
                "Your landlord pays for repairs to the {}, unless the lease says otherwise.",
                "A tenant only owes money if the {} was damaged through carelessness.",
            ),
        ),
        Wordings(
            ("Can I move my {} to another wall?", "How difficult is it to move my {}?", "I want my {} in another room, is it possible?"),
            (
                "Shifting the {} means new pipes, so leave it to a licensed tradesman.",
                "A licensed tradesman can relocate the {} in a day, pipes included.",
                "To move the {} means new pipes, and you may need a permit.",
            ),
        ),
    ),
)

COOKING = Topic(
    mention="{}",
    things=(
        Wordings(("shrimp", "prawns"), ("shellfish", "crustaceans")),
        Wordings(("chicken", "chicken breast"), ("poultry", "white meat")),
        Wordings(("steak", "sirloin"), ("beef", "red meat")),
        Wordings(("spinach", "baby spinach"), ("leafy greens", "leaf vegetables")),
        Wordings(("potatoes", "baby potatoes"), ("spuds", "tubers")),
        Wordings(("salmon", "wild salmon"), ("fish", "fish fillets")),
        Wordings(("lentils", "brown lentils"), ("pulses", "legumes")),
        Wordings(("spaghetti", "dried spaghetti"), ("pasta", "noodles")),
    ),
    needs=(
        Wordings(
            ("How long can I keep leftover {}?", "Will leftover {} still be good on Friday?", "When should I throw away old {}?"),
            (
                "Eat cooked {} within three days, and store the rest in an airtight box.",
                "In an airtight box, cooked {} should be fine until the third day.",
                "You can keep {} for three days in an airtight box, and no longer.",
            ),
        ),
        Wordings(
            ("What gives {} a better taste?", "What can I add when {} tastes boring?", "How do I make {} less bland?"),
            (
                "Season early and finish {} with lemon juice and herbs to wake up the flavour.",
                "Without garlic and fresh herbs, {} will taste bland, and lemon juice also helps.",
                "Marinate {} in garlic and lemon juice, and season twice.",
            ),
        ),
        Wordings(
            ("How do I stop {} from sticking to the pan?", "Why does my pan always stick with {}?", "Which pan is best for {}?"),
            (
                "Heat a steel skillet before the oil goes in, and leave {} alone for a minute.",
                "Heat the pan before the oil goes in, and {} will slide around freely.",
                "Cast iron needs oil and patience, then {} will slide off without a trace.",
            ),
        ),
        Wordings(
            ("Which wine goes well with {}?", "What should we drink with {} tonight?", "Is there a good drink to have with {}?"),
            (
                "A dry Riesling or a cold lager is a fine companion for {}.",
                "Pour a chilled Riesling, as its acidity balances {} nicely.",
                "The wine should be dry, and a chilled Riesling is my favourite companion for {}.",
            ),
        ),
        Wordings(
            ("What amount of {} do I need for ten guests?", "How do I plan {} for a big party?", "What is a normal serving of {}?"),
            (
                "Count on two hundred grams of {} per person, and add a little extra.",
                "Two hundred grams of {} will fill a hungry adult, and half will do for a child.",
                "Your guests will be happy with two hundred grams of {} per person.",
            ),
        ),
        Wordings(
            ("What is the best way to warm up {}?", "Can I reheat {} from yesterday?", "How do I reheat {} without ruining it all?"),
            (
                "Cover {} with a damp towel and microwave at half power.",
                "Use the microwave at half power, and sprinkle {} with a spoon of broth.",
                "Always reheat {} under a lid, and sprinkle a spoon of broth on top.",
            ),
        ),
    ),
)

TOPICS = (BICYCLES, GARDENING, CLOTHES, COMPUTERS, PETS, MUSIC, TRAVEL, HOME, COOKING)

GREETINGS = ("Hello!", "Beginner here.", "Quick question.")

ASIDES_BEFORE = ("I know little about {}.", "Never mind what people do with {}.", "This is not the same as with {}.")
ASIDES_AFTER = ("It is another story with {}.", "For {} I would do something else.", "Ask somebody else about {}, though.")
"""Sentences that name a thing which the answer is not about."""
