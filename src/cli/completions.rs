//! `hallway completions`: what a shell needs to complete commands, options and files.

use super::{Arguments, Failure, Outcome, print};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

/// Shown below the arguments.
const HOW: &str = "\
For this session:
  source <(hallway completions bash)
  source <(hallway completions zsh)
  hallway completions fish | source
For every session, write the script to a file that your shell reads for completions, such as
  ~/.local/share/bash-completion/completions/hallway
  ~/.config/fish/completions/hallway.fish";

#[derive(Debug, Args)]
#[command(after_help = HOW)]
pub(super) struct CompletionsArguments {
    #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"])
        .try_map(|name| name.parse::<Shell>()))]
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArguments) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Arguments::command(), "hallway", &mut script);
    print(&String::from_utf8_lossy(&script))
}
