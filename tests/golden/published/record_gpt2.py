"""record_gpt2.py - a small GPT-2 as transformers saves it, and its most likely continuation of a prompt, for
tests/e2e/test_published.c.

    python3 record_gpt2.py    requires torch, transformers; writes the folder gpt2 and gpt2_text.txt

The tokenizer is ../tokenizer/gpt2.json, whose tokens are fewer than those of the model, as with padded vocabularies.
The seed is the first one whose continuation is ASCII, computed in f64 from the weights in the file.

SPDX-License-Identifier: Apache-2.0"""
import pathlib

import torch
from tokenizers import Tokenizer
from transformers import GPT2Config, GPT2LMHeadModel

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "gpt2"
tokenizer = Tokenizer.from_file(str(HERE.parent / "tokenizer" / "gpt2.json"))
prompt = torch.tensor([tokenizer.encode("It was a").ids])
config = GPT2Config(vocab_size=tokenizer.get_vocab_size() + 3, n_positions=32, n_embd=8, n_layer=2, n_head=2,
                    bos_token_id=0, eos_token_id=0)

for seed in range(5000):
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(0.5 * torch.randn_like(value) + ("ln_" in name and name.endswith("weight")))
    model.eval().half()
    shutil.rmtree(FOLDER, ignore_errors=True)
    model.save_pretrained(FOLDER)
    ids = model.double().generate(prompt, max_new_tokens=6, do_sample=False, pad_token_id=0, eos_token_id=0)
    text = tokenizer.decode(ids[0].tolist())
    if text.isascii() and 0 not in ids and len(set(ids[0, -6:].tolist())) > 3:
        break
(FOLDER / "generation_config.json").unlink()
(HERE / "gpt2_text.txt").write_text(text + "\n")
