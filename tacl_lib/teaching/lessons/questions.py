"""The quiz of each lesson: three to five questions, and for each choice why it is right or wrong."""

from typing import NamedTuple


class Choice(NamedTuple):
    text: str
    why: str
    right: bool = False


class Question(NamedTuple):
    ask: str
    choices: tuple[Choice, ...]


def _question(ask: str, *choices: Choice) -> Question:
    return Question(ask, choices)


def _right(text: str, why: str) -> Choice:
    return Choice(text, why, right=True)


QUESTIONS: dict[str, tuple[Question, ...]] = {
    "01_catastrophic_forgetting": (
        _question(
            "Why does a network forget its first task while it learns the second?",
            Choice("It is too small for both tasks.", "Trained on a mixture of both, the same network learns both."),
            _right(
                "The loss of the batch says nothing about old images.",
                "So the weights go wherever new images send them.",
            ),
            Choice(
                "The learning rate is too large.", "A smaller one forgets more slowly, but it also learns more slowly."
            ),
        ),
        _question(
            "The accuracies of task 0 after four epochs are 0.5, 0.9, 0.6, 0.8. What is its forgetting after the last?",
            Choice("0.3", "That is 0.8 - 0.5: forgetting compares with the best so far, not with the first epoch."),
            _right("0.1", "The best so far is 0.9, and 0.9 - 0.8 = 0.1."),
            Choice("-0.2", "That is 0.6 - 0.8. Forgetting is never negative: the best so far includes now."),
        ),
        _question(
            "A network always answers “even”. What do its numbers say?",
            _right("Forgetting 0, average accuracy about 50%", "It never knew anything, so it has nothing to forget."),
            Choice("Forgetting 100%", "Forgetting is a fall from the best so far, and its accuracy never changes."),
            Choice("It is the best learner: it forgets nothing.", "Read forgetting together with average accuracy."),
        ),
        _question(
            "A camera labels “road” or “not road”; summer turns into winter, and nobody says so. Which setting is it?",
            Choice("Task-incremental", "Then somebody would tell the network which season it is."),
            _right("Domain-incremental", "The answers stay, the images change, and nobody tells."),
            Choice("Class-incremental", "Then new answers would be added; here they stay the same two."),
        ),
    ),
    "02_agem": (
        _question(
            "The product of g and g_ref is +0.3. What does A-GEM do?",
            _right("It steps along -g.", "A step along -g lowers the loss on the reference batch too."),
            Choice("It projects g.", "Only a negative product means harm."),
            Choice("It adds g_ref to g.", "That would be replay. A-GEM only takes something away."),
        ),
        _question(
            "After a projection, what is the product of g̃ and g_ref?",
            Choice("Positive", "A-GEM changes g as little as it must, so the constraint just holds."),
            _right("Zero", "The step runs along the level line of the old loss: no better, no worse."),
            Choice("Negative", "That was g before the projection."),
        ),
        _question(
            "What exactly does A-GEM promise?",
            Choice("The accuracy of old tasks never falls.", "It is about a loss, of a small batch, for a small step."),
            _right(
                "To first order, the mean loss of the reference batch does not rise.",
                "Four restrictions in one sentence.",
            ),
            Choice("The loss of each old task does not rise.", "That is GEM, with one constraint for each task."),
        ),
        _question(
            "Why can A-GEM not learn from a stream in which tasks blend into each other?",
            Choice("Its gradient would be too noisy.", "Its gradients are as noisy as before; storing is the trouble."),
            _right(
                "There is no moment at which somebody could say “the task is over”.",
                "And only then does it store images.",
            ),
            Choice("It needs to know the number of tasks.", "It does not; it must be told when each one ends."),
        ),
    ),
    "03_ogd": (
        _question(
            "Why does OGD store model gradients and not loss gradients?",
            Choice("They are shorter vectors.", "Both have p numbers."),
            _right(
                "Loss gradients nearly vanish once a sample is learned.",
                "Model gradients still say what would change the answer.",
            ),
            Choice("They do not depend on the weights.", "They do: that is why they go stale."),
        ),
        _question(
            "Stored gradients overlap. What happens if you subtract the projection onto each, all taken from g?",
            _right(
                "What they share is taken away more than once.",
                "So the result is not orthogonal to them: orthogonalise first.",
            ),
            Choice("Nothing bad: projections can be added.", "Only for vectors that are orthogonal to each other."),
            Choice("The result is zero.", "Only if g lies in their span and they are orthogonal."),
        ),
        _question(
            "After 200 steps of the next task, does a stored gradient still protect its sample exactly?",
            Choice("Yes, it was stored once and for all.", "It was true at the weights of that moment."),
            _right("No: the weights have moved, and the true gradient with them.", "The stored one has gone stale."),
            Choice("No: it was overwritten.", "OGD never overwrites; its memory only grows."),
        ),
    ),
    "04_clustering_memory": (
        _question(
            "Who leaves when a sample joins a full cluster?",
            Choice("The oldest sample of the whole memory", "That is FIFO; it would soon hold the newest task only."),
            _right("The oldest member of that cluster", "So newcomers compete with their own kind."),
            Choice("The member farthest from the mean", "A sensible idea, but not Algorithm 3."),
        ),
        _question(
            "With one cluster, Q = 1, what is Algorithm 3?",
            _right("A FIFO memory of size P", "All samples have the same nearest mean."),
            Choice("A reservoir", "A reservoir keeps each sample with equal chance; here age decides."),
            Choice("A memory that keeps the first P samples", "Each newcomer joins, and the oldest leaves."),
        ),
        _question(
            "What does random assignment prove, as a control?",
            Choice("That random memories are bad", "Only if everything else is the same does it say why."),
            _right(
                "That the nearest mean does the work",
                "Clusters, sizes and FIFO stay; only the choice of the cluster differs.",
            ),
            Choice("That more clusters are better", "Their number is the same in both."),
        ),
    ),
    "05_task_agnostic": (
        _question(
            "What is TA-A-GEM told that SGD is not?",
            Choice("When a task ends", "That is A-GEM."),
            Choice("How many tasks there are", "Q and P are set beforehand, without knowing the tasks."),
            _right("Nothing", "Images and labels, batch after batch: the memory does the rest."),
        ),
        _question(
            "Why does TA-OGD not keep an orthogonal basis, as OGD does?",
            _right(
                "Members leave the memory, and that breaks a basis.",
                "Every later vector had its share of the one that left taken out.",
            ),
            Choice("Gradients of one task are orthogonal anyway.", "They overlap a great deal."),
            Choice("A basis would need more memory.", "It would need as much."),
        ),
        _question(
            "Two methods were run with the same five seeds. Which test compares them?",
            Choice("An unpaired t-test", "It ignores that seed 3 was hard for both, and so it sees less."),
            _right(
                "A paired t-test, on the five differences",
                "Same first weights, same order: what is left is the method.",
            ),
            Choice("None: look at the better mean.", "Means differ by luck too; ask by how much."),
        ),
        _question(
            "A method forgets least of all, and its average accuracy is lowest. What may have happened?",
            _right("It learned little, so that it had little to forget.", "Read both numbers together."),
            Choice("Its memory was too large.", "A larger memory rarely lowers the accuracy."),
            Choice("That cannot be.", "A network that never learns has forgetting 0."),
        ),
    ),
}
