//! The file of `--metrics`, for `stress run` and `stress gate`. It is checked before the work, and
//! written once after the work, also after a failure.

use std::path::Path;

use report::{Existing, WholeFile};

use crate::terminal::{self, Code, Failure, WithExitCode, exit};

/// The file, if the user asks for one.
#[derive(Debug)]
pub struct MetricsFile(Option<WholeFile>);

impl MetricsFile {
    /// Checks that the file can be written.
    ///
    /// # Errors
    /// The file cannot be written, or it exists and must not be replaced.
    pub fn at(path: Option<&Path>, existing: Existing) -> Result<Self, Failure> {
        let file = path.map(|path| WholeFile::at(path, "--metrics", existing)).transpose();
        Ok(Self(file?))
    }

    /// Writes the metrics of work that ended with `ended`. Returns `ended`, or the failure to write
    /// if the work did not fail. `text` makes the metrics from the exit code.
    ///
    /// # Errors
    /// The work failed, or else the file cannot be written.
    pub fn write(
        self,
        ended: Result<Code, Failure>,
        text: impl FnOnce(u8) -> String,
    ) -> Result<Code, Failure> {
        let Some(file) = self.0 else { return ended };
        let code = match &ended {
            Ok(code) => *code,
            Err(failure) => failure.code,
        };
        let text = text(code as u8);
        let written = file.write(|out| out.write_all(text.as_bytes()));
        let written = written.map(|path| terminal::note(&format!("wrote {}", path.display())));
        exit::with_side_work(ended, written.with_exit_code(Code::Io), terminal::error)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_file_has_the_code_of_the_end_and_hides_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stress.prom");
        let at = || MetricsFile::at(Some(&path), Existing::Replace).unwrap();
        let text = |code: u8| format!("code {code}\n");
        let read = || fs::read_to_string(&path).unwrap();
        assert_eq!(at().write(Ok(Code::Claim), text).unwrap(), Code::Claim);
        assert_eq!(read(), "code 1\n");
        let fails = |code| Err(Failure { code, error: anyhow!("no space") });
        let ended = at().write(fails(Code::Usage), text).unwrap_err();
        assert_eq!((ended.code, read().as_str()), (Code::Usage, "code 2\n"));
        // The place goes while the work goes on.
        let lost = |ended| {
            let file = at();
            fs::remove_file(&path).ok();
            fs::create_dir(&path).unwrap();
            let ended = file.write(ended, text);
            fs::remove_dir(&path).unwrap();
            ended.unwrap_or_else(|failure| failure.code)
        };
        assert_eq!(lost(Ok(Code::Fine)), Code::Io);
        assert_eq!(lost(Ok(Code::Claim)), Code::Claim);
        assert_eq!(lost(fails(Code::Disagree)), Code::Disagree);
        let none = MetricsFile::at(None, Existing::Refuse)
            .unwrap()
            .write(Ok(Code::Fine), |_| unreachable!());
        assert_eq!(none.unwrap(), Code::Fine);
        let error = MetricsFile::at(Some(dir.path()), Existing::Refuse).unwrap_err();
        assert!(error.code == Code::Io && error.to_string().contains("--metrics"), "{error}");
    }
}
