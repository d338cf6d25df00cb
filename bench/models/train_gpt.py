"""train_gpt.py: scripts/train_gpt.lua in PyTorch: the same model, text, start and schedule, pieces of its own.

    python bench/models/train_gpt.py [--steps N] [--every N] [--text FILE] [--seed N]

Prints bits a letter as that does; docs/training.md compares them.
"""

import argparse
import math
import re
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--text", default="bible")
for name, default in [("steps", 2000), ("batch", 32), ("context", 128), ("width", 128), ("layers", 4), ("heads", 4),
                      ("every", 250), ("seed", 0)]:
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--lr", type=float, default=0.002)
options = parser.parse_args()


def read_text():
    if options.text != "bible":
        return open(options.text, "rb").read()
    text = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], capture_output=True, check=True).stdout
    return re.sub(rb"\S+ ([^\n]*)", rb"\1", text)


class Block(nn.Module):
    def __init__(self, width, heads, layers):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        for layer, deviation in [(self.qkv, 0.02), (self.up, 0.02), (self.out, 0.02 / math.sqrt(2 * layers)),
                                 (self.down, 0.02 / math.sqrt(2 * layers))]:
            nn.init.normal_(layer.weight, std=deviation)
            nn.init.zeros_(layer.bias)

    def turn(self, x, cos, sin):
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(self.turn(q, cos, sin), self.turn(k, cos, sin), v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        width, size = options.width, options.width // options.heads
        self.letters, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)
        nn.init.normal_(self.letters.weight, std=0.02)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.blocks = nn.ModuleList(Block(width, options.heads, options.layers) for _ in range(options.layers))
        self.norm = nn.LayerNorm(width)
        angle = torch.outer(torch.arange(options.context), 10000 ** (-torch.arange(0, size, 2) / size))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, numbers):
        x = self.letters(numbers)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x))


def main():
    torch.manual_seed(options.seed)
    text = read_text()
    context = options.context
    letters = sorted(set(text))
    number_of = {letter: k for k, letter in enumerate(letters)}
    corpus = torch.tensor([number_of[letter] for letter in text])
    training = len(corpus) - max(len(corpus) // 20, context + 1)
    held_out = corpus[training:]
    pieces = held_out[:len(held_out) // (context + 1) * (context + 1)].view(-1, context + 1)[:512]
    model = Model(len(letters))

    def loss_of(batch):
        return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    def rate(step):
        warm = math.ceil(options.steps / 20) + 1
        cosine = options.lr / 10 + 0.45 * options.lr * (1 + math.cos(math.pi * min(step / options.steps, 1)))
        return cosine * min((step + 1) / warm, 1)

    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, betas=(0.9, 0.99), weight_decay=0.1)
    print(f"{len(text)} letters, {len(letters)} different; {sum(p.numel() for p in model.parameters())} parameters")
    total, since, start = 0.0, 0, time.process_time()
    for step in range(1, options.steps + 1):
        starts = torch.randint(0, training - context, (options.batch, 1))
        loss = loss_of(corpus[starts + torch.arange(context + 1)])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate(step - 1)
        optimizer.step()
        total, since = total + loss.item(), since + 1
        if step % options.every == 0 or step == options.steps:
            with torch.no_grad():
                bits = sum(loss_of(part).item() * len(part) for part in pieces.split(32)) / len(pieces) / math.log(2)
            print(f"step {step:5d}  bits a letter: training {total / since / math.log(2):.4f}, held out {bits:.4f}",
                  f"  {time.process_time() - start:.1f} s of CPU", flush=True)
            total, since = 0.0, 0


main()
