#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record: trains small tokenizers of the common configurations, and records what Hugging Face's tokenizers make
of some texts: NAME.json, and cases.json, {NAME: [{text, ids, decoded, skipped}]}.

Recorded with tokenizers 0.23.3. tests/tools/compare_tokenizers.py uses the same configurations."""
import json
import os

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
SIZE = 500  # of the vocabularies


def train(tokenizer, trainer, lines):
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def bpe_trainer(special):
    return trainers.BpeTrainer(vocab_size=SIZE, special_tokens=special, show_progress=False,
                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def gpt2(lines):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return train(t, bpe_trainer(["<|endoftext|>"]), lines)


def llama3(lines):
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.normalizer = normalizers.NFC()
    t.decoder = decoders.ByteLevel()
    t = train(t, bpe_trainer(["<|begin_of_text|>", "<|endoftext|>"]), lines)
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)])])
    return t


def llama2(lines):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # words, to train in finite time
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=SIZE, special_tokens=special, show_progress=False, limit_alphabet=200)
    t = train(t, trainer, lines)
    data = json.loads(t.to_str())
    data["pre_tokenizer"] = None
    data["added_tokens"] = data["added_tokens"][:3]
    t = Tokenizer.from_str(json.dumps(data))
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return t


def bert(lines, cased=False):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t = train(t, trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=special, show_progress=False), lines)
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def bert_cased(lines):
    return bert(lines, cased=True)


def mixed(lines):
    """What the others lack."""
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(), normalizers.Lowercase(),
                                         normalizers.Replace(Regex(r"\s+"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("contiguous")])
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    trainer = trainers.BpeTrainer(vocab_size=SIZE, special_tokens=["<unk>"], show_progress=False,
                                  end_of_word_suffix="</w>", limit_alphabet=200)
    t = train(t, trainer, lines)
    t.add_special_tokens([AddedToken("<|endoftext|>", lstrip=True, rstrip=True)])
    t.add_tokens([AddedToken("don", single_word=True), AddedToken("Lead", normalized=True)])
    return t


def metaspace(lines):
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    trainer = trainers.BpeTrainer(vocab_size=SIZE, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False,
                                  limit_alphabet=200)
    return train(t, trainer, lines)


def unigram(lines):
    """Like T5, without its normalizer."""
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                                      show_progress=False)
    t = train(t, trainer, [line[:40] for line in lines])
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return t


def unigram_bytes(lines):
    """Whole texts, with tokens of bytes."""
    data = json.loads(unigram(lines).to_str())
    scores = data["model"]["vocab"] + [[f"<0x{b:02X}>", -20.0 - b / 256] for b in range(256)]
    data["model"].update(vocab=scores, byte_fallback=True)
    data["pre_tokenizer"] = None
    t = Tokenizer.from_str(json.dumps(data))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    return t


RULES = [("\u00bd", "1/2"), ("\ufb01", "fi"), ("\u00e9", "e"), ("e\u0301", "e"), ("\u200b", " "), ("\u3000", " "),
         ("\t", " "), ("\u00fc", "u"), ("e\u0301x", "ex"), ("\u4eac", "\u4eac\u90fd"), ("\x1c", "")]


def sentencepiece(lines):
    """SentencePiece's own normalizer, with few rules, and its scores."""
    import io
    import tempfile
    import sentencepiece as spm
    from sentencepiece import sentencepiece_model_pb2 as pb
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False) as rules:
        for left, right in RULES:
            rules.write(" ".join(f"{ord(c):X}" for c in left) + "\t" + " ".join(f"{ord(c):X}" for c in right) + "\n")
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter([line for line in lines if line]), model_writer=model,
                                   vocab_size=220, hard_vocab_limit=False, character_coverage=0.98,
                                   normalization_rule_tsv=rules.name, minloglevel=2)
    proto = pb.ModelProto.FromString(model.getvalue())
    t = Tokenizer(models.Unigram([(p.piece, p.score) for p in proto.pieces], proto.trainer_spec.unk_id, False))
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    return t


CONFIGURATIONS = {f.__name__: f for f in (gpt2, llama3, llama2, bert, bert_cased, mixed, metaspace, unigram,
                                          unigram_bytes, sentencepiece)}



TEXTS = [
    "Hello world! It's 12345.67 -- don't you'll we're THEY'VE",
    "  two  spaces,\ttab\n\nlines \r\n end  ",
    "Füße naïve café cafe\u0301 \u212b \ufb01 ½ Ⅷ İSTANBUL ΑΣ",
    "東京タワー 北京大学 서울 кириллица ελληνικά עברית العربية हिन्दी ไทย",
    "🙂👩‍👩‍👧 \u200b\ufeff zero\u00a0width \u3000 \u1680x \x1c\x85y \u180ez",
    "<|endoftext|>a  <|endoftext|>  b<s>c</s> [MASK] x[SEP]",
    "don donut Lead lead  ▁under▁ ▁",
    "",
    " ",
    "x" * 120 + " abc" * 30,
    "i\u0307 a\u0323\u0307 \ud55c\u0300 \U0001d400 \U0002f800 \u0130",
    "price: $1,234.50 (5 %) #tag @user http://a.b/c?d=e&f=g_h",
]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    lines = [line for text in TEXTS for line in text.split("\n")] * 3
    cases = {}
    for name, configure in CONFIGURATIONS.items():
        t = configure(lines)
        t.save(f"{here}/{name}.json", pretty=False)
        cases[name] = []
        for text in TEXTS:
            ids = t.encode(text).ids
            cases[name].append({"text": text, "ids": ids, "decoded": t.decode(ids, skip_special_tokens=False),
                                "skipped": t.decode(ids)})
    with open(f"{here}/cases.json", "w", encoding="utf-8") as out:
        json.dump(cases, out, ensure_ascii=False, indent=0)


if __name__ == "__main__":
    main()
