"""TL403: a teacher is a part of the module that is trained, and goes to training mode with it.

``train()`` switches a module and everything that is kept on it. A teacher that was assigned to an attribute of the
module that is trained is such a part, so ``wrapper.train()`` puts it into training mode as well: its dropout draws anew
in each step, and its batch norms normalise by the batch and go on learning from it. Neither ``torch.no_grad()`` nor
``requires_grad_(False)`` changes that: they are about gradients, and running averages are no gradients. Nor does
``teacher.eval()`` in the constructor, which the first ``wrapper.train()`` undoes. And a module that was just made is in
training mode.

What it does. The student is taught by a noisy and changing copy of the teacher. With the program below the same batch
gives the teacher's answer with another dropout mask each time, and after an epoch the averages of its batch norm are
those of the student's data. Reported in public: the accuracy of the teacher itself fell from step to step.

To fix it, override ``train`` so that the teacher stays as it is:

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

or keep it where ``train`` does not reach it: outside of the module, or in a list of one.

Bad:

    import copy

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.student = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 4))
            self.teacher = copy.deepcopy(self.student)

        def forward(self, x):
            with torch.no_grad():
                goal = self.teacher(x)
            return F.mse_loss(self.student(x), goal)

Good:

    import copy

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.student = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 4))
            self.teacher = copy.deepcopy(self.student)

        def train(self, mode=True):
            super().train(mode)
            self.teacher.eval()
            return self

        def forward(self, x):
            with torch.no_grad():
                goal = self.teacher(x)
            return F.mse_loss(self.student(x), goal)

Severity. A warning: that it is a teacher is known by its name, and some authors want its batch norms to follow the
data.

Silent where ``train`` is overridden, by the class or by one around it, where the teacher is put into evaluation mode
again outside of the constructor (in ``forward``, in a hook, by a context manager) or into training mode on purpose,
where it is an average of the student, where its parameters are used for anything but freezing them, where it is called
with a gradient, where none of its layers depends on the mode, where it is kept out of the reach of ``train`` (a list, a
class that is no module), and where it is put into evaluation mode once and nothing is seen that switches the whole.
Lightning leaves the modes as it finds them: there ``eval()`` in the constructor is enough.
"""

from collections.abc import Iterator

from trainlint import Finding, KeptTeacher, Severity, rule


@rule("TL403")
def teacher_in_train_mode(teacher: KeptTeacher) -> Iterator[Finding]:
    """Flag a teacher that is switched to training mode with the module that keeps it."""
    lines = (*teacher.still, teacher.evaluated, teacher.switched, teacher.depends)
    yield Finding(
        teacher.argument,
        f"{teacher.teacher} is a part of {teacher.owner}, and goes to training mode with it",
        f"{_so(teacher)}, and no_grad or requires_grad_(False) does not stop that",
        tuple(line for line in lines if line is not None),
        f"override train in {teacher.owner}: call super().train(mode), then {teacher.teacher}.eval()",
        severity=Severity.WARNING,
    )


def _so(teacher: KeptTeacher) -> str:
    undone = "its eval() is undone: " if teacher.evaluated is not None else ""
    return f"{undone}its dropout draws anew in each step, and its batch norms go on learning"
