"""The torch backend: transformers models, LoRA through peft, FSDP2 under torchrun. It executes what the recipe says."""
