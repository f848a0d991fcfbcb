"""Train a small classifier, keep the weights of its best epoch, and restore them."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x, held_x = torch.randn(64, 8), torch.randn(256, 8)
y, held_y = x.sum(1).gt(0).long(), held_x.sum(1).gt(0).long()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)


def accuracy():
    return model(held_x).argmax(1).eq(held_y).float().mean().item()


best_accuracy, best = 0.0, None
for _ in range(30):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    val_accuracy = accuracy()
    scheduler.step(val_accuracy)
    if val_accuracy > best_accuracy:
        best_accuracy = val_accuracy
        best = model.state_dict()  # of the best epoch

model.load_state_dict(best)
print(f"best {best_accuracy:.3f}, restored {accuracy():.3f}")
