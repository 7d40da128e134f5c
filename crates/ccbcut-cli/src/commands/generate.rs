//! `ccbcut generate`: man pages and completions, from the same list as `--help`.

use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;

use crate::{
    args::{Cli, Generated},
    exit::ExitStatus,
    files::{self, File},
    output::Output,
};

/// Writes what was asked for, to a folder or to stdout.
pub fn run(what: &Generated, output: &Output) -> Result<ExitStatus> {
    match what {
        Generated::Man { output: None } => output.data(&man_page(Cli::command())?)?,
        Generated::Man { output: Some(folder) } => write(&man_pages(folder)?, output)?,
        Generated::Completions { shell, output: None } => output.data(&completions(*shell))?,
        Generated::Completions { shell, output: Some(folder) } => {
            write(&[(folder.join(shell.file_name("ccbcut")), completions(*shell))], output)?;
        }
    }
    Ok(ExitStatus::Success)
}

/// Generated files are replaced without asking: that is what generating again is for.
fn write(generated: &[File], output: &Output) -> Result<()> {
    files::write_all(generated, true)?;
    for (path, _) in generated {
        output.status(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ccbcut", &mut script);
    script
}

/// The page of the command and those of its verbs.
fn man_pages(folder: &Path) -> Result<Vec<File>> {
    let mut command = Cli::command();
    command.build();
    let mut pages = vec![(folder.join("ccbcut.1"), man_page(command.clone())?)];
    for verb in command.get_subcommands() {
        let name = format!("ccbcut-{}", verb.get_name());
        pages.push((
            folder.join(format!("{name}.1")),
            man_page(verb.clone().display_name(&name).bin_name(name.replace('-', " ")))?,
        ));
    }
    Ok(pages)
}

fn man_page(command: Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("making a man page")?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_a_page() {
        let pages = man_pages(Path::new("man")).unwrap();
        let names: Vec<String> = pages.iter().map(|(path, _)| path.display().to_string()).collect();
        for verb in ["segment", "cluster", "embed", "cost", "figures", "demo", "generate"] {
            assert!(names.contains(&format!("man/ccbcut-{verb}.1")), "{names:?}");
        }
        let segment = pages.iter().find(|(path, _)| path.ends_with("ccbcut-segment.1")).unwrap();
        let text = String::from_utf8_lossy(&segment.1);
        assert!(text.contains(".TH") && text.contains("epsilon") && text.contains("Examples"));
    }

    #[test]
    fn completions_know_the_options() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
            let script = String::from_utf8(completions(shell)).unwrap();
            assert!(script.contains("max-iterations"), "{shell}");
        }
    }
}
