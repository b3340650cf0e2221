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

    things: tuple[Wordings, ...]
    needs: tuple[Wordings, ...]


BICYCLES = Topic(
    things=(
        Wordings(("chain", "bike chain"), ("drivetrain", "bike drivetrain")),
        Wordings(("saddle", "bike saddle"), ("seat", "padded seat")),
        Wordings(("derailleur", "rear derailleur"), ("gear changer", "gear mechanism")),
        Wordings(("brake", "disc brake"), ("caliper", "hydraulic caliper")),
        Wordings(("wheel", "front wheel"), ("rim", "spoked rim")),
        Wordings(("fork", "front suspension"), ("damper", "air damper")),
    ),
    needs=(
        Wordings(
            (
                "Why does my {} squeak?",
                "How do I stop my {} from creaking?",
                "My {} squeaks on every ride, why?",
                "What helps when my {} creaks?",
                "How can I silence my noisy {}?",
            ),
            (
                "Light oil will silence the {}.",
                "Grease the {} and it will go quiet.",
                "Put some oil on the {} until it runs quietly.",
                "The {} squeaks because it lacks grease.",
            ),
        ),
        Wordings(
            (
                "What can I do when my {} comes loose?",
                "My {} wobbles, any advice?",
                "Why is my {} so loose and shaky?",
                "How do I fix a loose {}?",
                "Should I worry when my {} wobbles?",
            ),
            (
                "Tighten the bolts on the {}.",
                "Take an Allen key and tighten the {}.",
                "The {} needs its bolts tightened with an Allen key.",
                "Snug up the loose screws that hold the {}.",
            ),
        ),
        Wordings(
            (
                "How do I clean my {}?",
                "What gets the mud off my {}?",
                "My {} is muddy and dirty, what helps?",
                "How often should I clean a dirty {}?",
                "Can I wash the mud off my {}?",
            ),
            (
                "Scrub the {} with a brush and soapy water.",
                "Use degreaser and a stiff brush on the {}.",
                "Spray degreaser on the {} and rinse.",
                "Soapy water is enough to clean the {}.",
            ),
        ),
        Wordings(
            (
                "How much does a new {} cost?",
                "What is the price of a new {}?",
                "Is it expensive to replace my {}?",
                "What would a replacement {} cost me?",
                "Where is the best price for my {}?",
            ),
            (
                "Expect to pay forty dollars for the {}.",
                "The shop will charge fifty dollars for the {}.",
                "The {} costs about forty dollars at my shop.",
                "Pay no more than sixty dollars for the {}.",
            ),
        ),
    ),
)

GARDENING = Topic(
    things=(
        Wordings(("lawn", "grass"), ("turf", "garden turf")),
        Wordings(("rose", "rose bush"), ("thorny shrub", "flowering shrub")),
        Wordings(("cactus", "potted cactus"), ("succulent", "desert plant")),
        Wordings(("apple tree", "old apple tree"), ("orchard tree", "fruit tree")),
        Wordings(("ivy", "common ivy"), ("vine", "creeping vine")),
        Wordings(("basil", "sweet basil"), ("herb", "kitchen herb")),
    ),
    needs=(
        Wordings(
            (
                "How often should I water my {}?",
                "How much water does my {} need?",
                "When does my {} need watering?",
                "Is my {} too dry?",
                "Does my {} get enough water?",
            ),
            (
                "Soak the {} once the soil feels dry.",
                "Give the {} a deep soak every morning.",
                "Let the hose run on the {} in the morning.",
                "Water the {} only when the soil is dry.",
            ),
        ),
        Wordings(
            (
                "How do I get rid of bugs on my {}?",
                "Insects are eating my {}, what now?",
                "My {} is full of bugs, help!",
                "Which insects are on my {}?",
                "What kills the bugs on my {}?",
            ),
            (
                "Spray the {} against aphids.",
                "Ladybirds will clear the aphids from the {}.",
                "Neem spray keeps pests away from the {}.",
                "Pick the pests and bugs off the {} by hand.",
            ),
        ),
        Wordings(
            (
                "Why is my {} turning yellow?",
                "My {} looks pale, what is wrong?",
                "What makes my {} so yellow?",
                "How can I help my pale {}?",
                "Should I worry about my yellow {}?",
            ),
            (
                "Feed the {} with a balanced fertiliser.",
                "The {} lacks nitrogen, so feed it.",
                "Give the {} a fertiliser with nitrogen.",
                "Compost helps when the {} is yellow.",
            ),
        ),
        Wordings(
            (
                "When should I cut back my {}?",
                "My {} is too tall, can I cut it?",
                "How short can I trim my {}?",
                "Is it time to trim my {}?",
                "How do I cut a tall {}?",
            ),
            (
                "Prune the {} by a third.",
                "Take sharp shears and prune the {} in February.",
                "February is ideal, and sharp shears spare the {}.",
                "Cut the {} by a third, never more.",
            ),
        ),
    ),
)

CLOTHES = Topic(
    things=(
        Wordings(("sweater", "jumper"), ("pullover", "knitted pullover")),
        Wordings(("raincoat", "long raincoat"), ("waterproof", "hooded waterproof")),
        Wordings(("dress", "evening dress"), ("gown", "silk gown")),
        Wordings(("hat", "felt hat"), ("headwear", "stylish headwear")),
        Wordings(("suit", "business suit"), ("formal outfit", "office outfit")),
        Wordings(("tie", "necktie"), ("cravat", "knotted cravat")),
    ),
    needs=(
        Wordings(
            (
                "How do I get a stain out of my {}?",
                "I spilled wine on my {}, what now?",
                "Can I save my {} after a coffee spill?",
                "What removes a stain from my {}?",
                "There is a wine stain on my {}, help!",
            ),
            (
                "Dab the {} with cold vinegar.",
                "Rub baking soda into the {}.",
                "Treat the {} with baking soda and vinegar.",
                "Vinegar takes any stain out of the {}.",
            ),
        ),
        Wordings(
            (
                "My {} shrank in the wash, what now?",
                "How can I make my {} bigger again?",
                "Why did my {} shrink?",
                "Is my {} too small after a hot wash?",
                "Can a shrunken {} get bigger?",
            ),
            (
                "Stretch the {} while it is damp.",
                "Soak the {} in hair conditioner.",
                "Hair conditioner lets you stretch the {}.",
                "Pull the damp {} back to its old size after the wash.",
            ),
        ),
        Wordings(
            (
                "How can I fix a hole in my {}?",
                "I tore my {}, is it lost?",
                "Can I repair the hole in my {}?",
                "Who repairs a torn {}?",
                "My {} is torn, can I fix it?",
            ),
            (
                "A needle and thread will mend the {}.",
                "Sew a patch on the {}.",
                "Ask a tailor to mend the {}.",
                "A tailor can sew the hole in the {}.",
            ),
        ),
        Wordings(
            (
                "How do I keep my {} from fading?",
                "Why does the colour of my {} fade?",
                "What stops my {} from losing colour?",
                "My {} looks faded and dull, why?",
                "Will my {} fade in the sun?",
            ),
            (
                "Turn the {} inside out to spare the dye.",
                "Mild detergent is gentle on the dye of the {}.",
                "Wash the {} inside out with mild detergent.",
                "Keep the {} away from the sun, as it bleaches the dye.",
            ),
        ),
    ),
)

COMPUTERS = Topic(
    things=(
        Wordings(("laptop", "notebook"), ("portable computer", "portable machine")),
        Wordings(("phone", "cell phone"), ("handset", "mobile handset")),
        Wordings(("tablet", "iPad"), ("slate", "touchscreen slate")),
        Wordings(("TV", "television"), ("big screen", "flat screen")),
        Wordings(("smartwatch", "Garmin smartwatch"), ("wearable", "fitness wearable")),
        Wordings(("console", "game console"), ("gaming system", "home gaming system")),
    ),
    needs=(
        Wordings(
            (
                "Why has my {} become so slow?",
                "My {} freezes, what is wrong?",
                "How can I speed up my {}?",
                "What makes my {} slow?",
                "Why does my {} freeze all the time?",
            ),
            (
                "Restart the {} and free some memory.",
                "The memory of the {} is full.",
                "Delete old files from the {} and restart.",
                "Full memory makes the {} slow.",
            ),
        ),
        Wordings(
            (
                "Why does my {} get so hot?",
                "My {} is burning hot, is that dangerous?",
                "How do I keep my {} from overheating?",
                "Is it normal that my {} overheats?",
                "What if my {} gets too hot?",
            ),
            (
                "Let the {} cool down in the shade.",
                "Air must flow around the {}.",
                "Never cover the {}, so that air can cool it.",
                "Any {} gets hot without air.",
            ),
        ),
        Wordings(
            (
                "My {} will not turn on, what now?",
                "Why does my {} stay black?",
                "Is my {} dead?",
                "How do I turn on a dead {}?",
                "What if my {} stays black and dead?",
            ),
            (
                "Charge the {} with another adapter.",
                "A faulty adapter is why the {} cannot boot.",
                "Hold the main switch and the {} should boot.",
                "Charge the {} before you turn it on.",
            ),
        ),
        Wordings(
            (
                "Why can my {} not connect to the internet?",
                "My {} keeps losing the wifi, why?",
                "How do I fix the wifi of my {}?",
                "Is there no internet on my {}?",
                "How does my {} connect to wifi?",
            ),
            (
                "Type the network password into the {} again.",
                "Walls weaken the signal, so move the {}.",
                "Check the signal and password to get the {} online.",
                "The {} needs a better wifi signal.",
            ),
        ),
    ),
)

PETS = Topic(
    things=(
        Wordings(("dog", "puppy"), ("hound", "loyal hound")),
        Wordings(("cat", "kitten"), ("feline", "furry feline")),
        Wordings(("rabbit", "bunny"), ("burrower", "long-eared burrower")),
        Wordings(("parrot", "grey parrot"), ("bird", "feathered bird")),
        Wordings(("hamster", "golden hamster"), ("rodent", "small rodent")),
        Wordings(("tortoise", "turtle"), ("reptile", "shelled reptile")),
    ),
    needs=(
        Wordings(
            (
                "Why has my {} stopped eating?",
                "My {} refuses its food, why?",
                "What if my {} does not eat?",
                "Should I worry when my {} refuses to eat?",
                "Which food does a sick {} eat?",
            ),
            (
                "Tempt the {} with a favourite treat.",
                "The {} lost its appetite because of stress.",
                "Stress takes the appetite of the {}.",
                "Offer the {} a treat when it will not eat.",
            ),
        ),
        Wordings(
            (
                "How do I stop my {} from biting?",
                "My {} bites me, what can I do?",
                "Why does my {} bite my fingers?",
                "Is it normal that my {} bites?",
                "Will my {} bite my children?",
            ),
            (
                "Say no firmly and the {} learns to be gentle.",
                "End the game, so that the {} learns.",
                "Train the {} to be gentle and end the game.",
                "The {} must learn that it cannot bite.",
            ),
        ),
        Wordings(
            (
                "Why does my {} scratch itself?",
                "Could my {} have fleas?",
                "My {} is itching, what is it?",
                "What stops my {} from scratching?",
                "How do I get rid of fleas on my {}?",
            ),
            (
                "Treat the {} with a powder against parasites.",
                "Check the skin of the {} for parasites.",
                "Change the bedding and dust the {} with powder.",
                "Fleas bite the skin of the {}.",
            ),
        ),
        Wordings(
            (
                "How do I take my {} on a long drive?",
                "Will my {} be calm in the car?",
                "Is a car trip too much for my {}?",
                "Can my {} travel by car?",
                "How does my {} survive a long trip?",
            ),
            (
                "Put the {} in a sturdy crate.",
                "A dark blanket soothes the {} on the motorway.",
                "Line a crate with a blanket for the {}.",
                "In the car, let the {} sleep under a blanket.",
            ),
        ),
    ),
)

COOKING = Topic(
    things=(
        Wordings(("shrimp", "prawns"), ("shellfish", "fresh shellfish")),
        Wordings(("chicken", "chicken breast"), ("poultry", "tender poultry")),
        Wordings(("steak", "sirloin steak"), ("beef", "lean beef")),
        Wordings(("spinach", "baby spinach"), ("greens", "leafy greens")),
        Wordings(("salmon", "wild salmon"), ("fish", "fish fillets")),
        Wordings(("spaghetti", "dried spaghetti"), ("pasta", "plain pasta")),
    ),
    needs=(
        Wordings(
            (
                "How long can I keep leftover {}?",
                "Will leftover {} still be good on Friday?",
                "When should I throw away old {}?",
                "How do I keep {} for a week?",
                "Is it safe to eat old {}?",
            ),
            (
                "Eat {} within three days.",
                "Store {} in an airtight box.",
                "In an airtight box, {} will last three days.",
                "You can keep {} for three days.",
            ),
        ),
        Wordings(
            (
                "How do I give {} a better taste?",
                "What can I add when {} tastes boring?",
                "How do I make {} less bland?",
                "Why does {} taste so bland?",
                "What do you add to {}?",
            ),
            (
                "Season {} with garlic and herbs.",
                "Finish {} with lemon juice and herbs.",
                "Marinate {} in garlic and lemon juice.",
                "Without garlic, {} will taste bland.",
            ),
        ),
        Wordings(
            (
                "How do I stop {} from sticking?",
                "Why does {} stick to the pan?",
                "Which pan is best for {}?",
                "My {} always sticks, why?",
                "What if {} sticks to the pan?",
            ),
            (
                "Heat the skillet before {} goes in.",
                "In a hot skillet with oil, {} will slide.",
                "Heat the oil first, then {} will slide around.",
                "Use more oil when {} sticks.",
            ),
        ),
        Wordings(
            (
                "Which wine goes well with {}?",
                "What should we drink with {}?",
                "Is there a good drink for {}?",
                "Can I drink red wine with {}?",
                "Do you have a wine for {}?",
            ),
            (
                "Pour a chilled Riesling with {}.",
                "A dry Riesling is a fine companion for {}.",
                "A cold lager is a good companion for {}.",
                "The best wine for {} is a chilled Riesling.",
            ),
        ),
    ),
)

TOPICS = (BICYCLES, GARDENING, CLOTHES, COMPUTERS, PETS, COOKING)
