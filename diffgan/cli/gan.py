"""`diffgan gan`: training and tuning generators, scoring them, and looking at what they make."""

from __future__ import annotations

import typer

from diffgan.cli import gan_sample, gan_score, gan_train, gan_tune

app = typer.Typer(
    help="Train and tune generators on labelled images, score them, and look at what they make.", no_args_is_help=True
)
app.command("train")(gan_train.train)
app.command("tune")(gan_tune.tune)
app.command("score")(gan_score.score)
app.command("sample")(gan_sample.sample)
