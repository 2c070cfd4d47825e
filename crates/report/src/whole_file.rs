//! Writes a file that an option names, for all verbs. A regular file is there whole or not at all;
//! before any work for it, the program checks that it can be written. A link's target is written. A
//! pipe, a character device or an open descriptor gets the bytes, and is not replaced. No two
//! options name one file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tempfile::NamedTempFile;

use crate::error::Error;

/// Maximal number of links that a name may lead through.
const LINK_COUNT_MAX: usize = 40;

/// Error text for a file that exists and must stay.
const IS_THERE: &str = "this file is there already; name another, or add --force to replace it";

/// Name of the stream to which a verb writes its text.
const STANDARD_OUTPUT: &str = "standard output";

/// The files that options of this process name at this time.
static CLAIMS: Mutex<Vec<(PathBuf, &'static str)>> = Mutex::new(Vec::new());

static HAS_STANDARD_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Treatment of a file that exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Keep it, and refuse the new one.
    #[default]
    Refuse,
    /// Replace it.
    Replace,
}

/// A file to be written. If it is dropped unwritten, nothing is left of it.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    place: Place,
    option: &'static str,
    /// Absent for a character device, which several options may name.
    _claim: Option<FileClaim>,
}

/// Target of the bytes.
#[derive(Debug)]
enum Place {
    /// A temporary file beside the file of this name, which it becomes once it is whole.
    Beside(PathBuf, Existing),
    /// Straight into the pipe or device of this name.
    Through,
    /// After the earlier output of an open descriptor.
    Open(File),
}

impl WholeFile {
    /// Checks that the file can be written.
    ///
    /// # Errors
    /// The file cannot be written, exists and stays, or another option names it.
    pub fn at(path: &Path, option: &'static str, existing: Existing) -> Result<Self, Error> {
        let path = path.to_owned();
        let target = target(&path).map_err(|cause| Error::named(&path, option, cause))?;
        if is_descriptor(&target) {
            let claim = Some(FileClaim::new(&target, &path, option)?);
            let file = opened(&target).map_err(|cause| Error::named(&path, option, cause))?;
            return Ok(Self { path, place: Place::Open(file), option, _claim: claim });
        }
        let metadata = fs::metadata(&path).ok();
        let as_file = metadata.as_ref().filter(|metadata| metadata.is_file());
        if let Some(stream) = as_file.and_then(standard_stream) {
            let fault = format!("{stream} goes to this file; name another");
            return Err(Error::usage(&path, option, fault));
        }
        let found = metadata.map(|metadata| metadata.file_type());
        let place = match found {
            Some(found) if found.is_dir() => {
                let fault = "it is a directory: name a file in it";
                return Err(Error::named(&path, option, fault));
            }
            Some(found) if found.is_file() && existing == Existing::Refuse => {
                return Err(Error::usage(&path, option, IS_THERE));
            }
            Some(found) if found.is_fifo() || found.is_char_device() => Place::Through,
            Some(found) if !found.is_file() => {
                let fault =
                    "it is a block device or a socket: name a file, a pipe or a character device";
                return Err(Error::named(&path, option, fault));
            }
            // A link to nothing yet is followed, too.
            _ => Place::Beside(target.clone(), existing),
        };
        let mut file = Self { path, place, option, _claim: None };
        if let Place::Beside(target, _) = &file.place {
            drop(file.beside(target)?);
        }
        if !found.is_some_and(|found| found.is_char_device()) {
            file._claim = Some(FileClaim::new(&target, &file.path, option)?);
        }
        Ok(file)
    }

    /// An empty file in the directory of `target`.
    fn beside(&self, target: &Path) -> Result<NamedTempFile, Error> {
        let dir = directory(target);
        if !dir.is_dir() {
            let fault = format!(
                "there is no directory {}: create it (mkdir -p), or name a file elsewhere",
                dir.display()
            );
            return Err(Error::named(&self.path, self.option, fault));
        }
        let mut builder = tempfile::Builder::new();
        let beside = readable(&mut builder).tempfile_in(dir);
        // The error's own text names the temporary file beside it, which the user does not know.
        beside.map_err(|error| Error::named(&self.path, self.option, error.kind()))
    }

    /// Lets `fill` write the bytes, then gives the file its name, in place of an older file that
    /// may be replaced. Returns its path.
    ///
    /// # Errors
    /// The file cannot be written, or `fill` failed.
    pub fn write(
        self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, Error> {
        let written = match &self.place {
            Place::Open(file) => buffered(file, fill),
            Place::Beside(target, existing) => {
                let filled = filled(self.beside(target)?, fill);
                filled.and_then(|beside| named(beside, target, *existing))
            }
            Place::Through => {
                let file = OpenOptions::new().write(true).open(&self.path);
                file.and_then(|file| buffered(&file, fill))
            }
        };
        match written {
            // Another program made the file meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::usage(&self.path, self.option, IS_THERE))
            }
            Err(cause) => Err(Error::named(&self.path, self.option, cause)),
            Ok(()) => Ok(self.path),
        }
    }
}

/// Writes these bytes into a file that is there whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
    let beside = readable(&mut tempfile::Builder::new()).tempfile_in(directory(path))?;
    named(filled(beside, |out| out.write_all(bytes))?, path, existing)
}

/// Writes all bytes of the file, and returns once they are on disk.
fn filled(
    beside: NamedTempFile,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    buffered(beside.as_file(), fill)?;
    beside.as_file().sync_all()?;
    Ok(beside)
}

/// Writes all bytes through a buffer.
fn buffered(file: &File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.flush()
}

/// Gives the temporary file its name, `target`.
fn named(beside: NamedTempFile, target: &Path, existing: Existing) -> io::Result<()> {
    drop::<File>(match existing {
        Existing::Refuse => beside.persist_noclobber(target)?,
        Existing::Replace => beside.persist(target)?,
    });
    // The new name has to be on disk, too. An error is no failure: the directory may be unreadable,
    // and not every file system can sync one.
    drop(File::open(directory(target)).and_then(|dir| dir.sync_all()));
    Ok(())
}

/// The claim of an option on a file. Once it is dropped, another option may name the file.
#[derive(Debug)]
pub(crate) struct FileClaim(PathBuf, &'static str);

impl FileClaim {
    /// Claims `target`, to which `path` leads, for `option`.
    ///
    /// # Errors
    /// Another option named it.
    pub(crate) fn new(target: &Path, path: &Path, option: &'static str) -> Result<Self, Error> {
        let dir = directory(target).canonicalize();
        let dir = dir.map_err(|cause| Error::named(path, option, cause))?;
        let target = dir.join(target.file_name().unwrap_or_default());
        let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, other)) =
            claims.iter().find(|(claimed, other)| *claimed == target && *other != option)
        {
            let fault = format!("{other} names this file, too; name another");
            return Err(Error::usage(path, option, fault));
        }
        claims.push((target.clone(), option));
        Ok(Self(target, option))
    }
}

impl Drop for FileClaim {
    fn drop(&mut self) {
        let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = claims.iter().position(|claim| *claim == (self.0.clone(), self.1)) {
            claims.swap_remove(index);
        }
    }
}

/// Whether an option named standard output, which then has no room for other text.
pub fn has_standard_output() -> bool {
    HAS_STANDARD_OUTPUT.load(Ordering::Relaxed)
}

/// Whether `target` is an entry of a process's table of descriptors, `/proc/<process>/fd/<number>`.
fn is_descriptor(target: &Path) -> bool {
    let dir = directory(target).canonicalize();
    dir.is_ok_and(|dir| dir.starts_with("/proc") && dir.ends_with("fd"))
}

/// Opens the file of the descriptor at `target`. Standard output and standard error continue at
/// their position. The file of any other descriptor is opened again, and written at its end.
fn opened(target: &Path) -> io::Result<File> {
    let own = Path::new("/proc").join(process::id().to_string());
    let is_own = directory(target).canonicalize()?.starts_with(own);
    let name = target.file_name().and_then(|name| name.to_str());
    let file = match name.filter(|_| is_own) {
        Some("1") => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        Some("2") => File::from(io::stderr().as_fd().try_clone_to_owned()?),
        _ => OpenOptions::new().append(true).open(target)?,
    };
    if name == Some("1") && is_own || standard_stream(&file.metadata()?) == Some(STANDARD_OUTPUT) {
        HAS_STANDARD_OUTPUT.store(true, Ordering::Relaxed);
    }
    Ok(file)
}

/// The standard stream that goes to the file of `metadata`, unless that is a character device.
fn standard_stream(metadata: &fs::Metadata) -> Option<&'static str> {
    if metadata.file_type().is_char_device() {
        return None;
    }
    let (stdout, stderr) = (io::stdout(), io::stderr());
    [(stdout.as_fd(), STANDARD_OUTPUT), (stderr.as_fd(), "standard error")]
        .into_iter()
        .find(|(stream, _)| {
            let stream = stream.try_clone_to_owned().map(File::from);
            let stream = stream.and_then(|stream| stream.metadata());
            stream.is_ok_and(|stream| {
                (stream.dev(), stream.ino()) == (metadata.dev(), metadata.ino())
            })
        })
        .map(|(_, name)| name)
}

/// The file or descriptor that `path` leads to through links, whether it is there or not.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINK_COUNT_MAX {
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() && !is_descriptor(&target) => {
                target = directory(&target).join(fs::read_link(&target)?);
            }
            _ => return Ok(target),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes temporary files readable for others as far as the umask allows, since they become results.
/// By default only the owner may read them.
fn readable<'a, 'b>(
    builder: &'a mut tempfile::Builder<'b, 'b>,
) -> &'a mut tempfile::Builder<'b, 'b> {
    builder.permissions(fs::Permissions::from_mode(0o666))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command, thread};

    use super::*;

    fn written(path: &Path, text: &'static str) -> Result<PathBuf, Error> {
        let file = WholeFile::at(path, "--out", Existing::Replace)?;
        file.write(|out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn a_file_that_cannot_be_written_is_refused_at_once_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let no_directory = format!("there is no directory {}", missing.display());
        for (path, words) in [
            (dir.path().to_owned(), "it is a directory"),
            (missing.join("trace.json"), no_directory.as_str()),
        ] {
            let error =
                format!("{:#}", WholeFile::at(&path, "--trace", Existing::Refuse).unwrap_err());
            assert!(error.contains("named by --trace") && error.contains(words), "{error}");
        }
        let path = dir.path().join("page.html");
        drop(WholeFile::at(&path, "--out", Existing::Replace).unwrap());
        let fails = |_: &mut dyn Write| Err(io::Error::other("nothing to write"));
        let error =
            WholeFile::at(&path, "--out", Existing::Replace).unwrap().write(fails).unwrap_err();
        assert!(format!("{error:#}").contains("nothing to write"), "{error:#}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_replaces_what_was_there_only_once_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page.html");
        fs::write(&path, "before").unwrap();
        let file = WholeFile::at(&path, "--out", Existing::Replace).unwrap();
        let written = file.write(|out| {
            out.write_all(b"after")?;
            assert_eq!(fs::read(&path)?, b"before");
            Ok(())
        });
        assert_eq!(written.unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), b"after");
    }

    #[test]
    fn a_file_that_two_options_name_is_refused_until_the_first_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let link = dir.path().join("link");
        symlink("result.json", &link).unwrap();
        let file = WholeFile::at(&path, "--metrics", Existing::Replace).unwrap();
        let error = WholeFile::at(&link, "--trace", Existing::Replace).unwrap_err();
        assert!(error.to_string().contains(": --metrics names this file, too"), "{error}");
        let error = crate::RunDirectory::at(dir.path()).unwrap_err();
        assert!(error.to_string().contains("names this file, too"), "{error}");
        drop(file);
        drop(WholeFile::at(&link, "--trace", Existing::Replace).unwrap());
    }

    #[test]
    fn an_open_descriptor_is_written_behind_what_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "keep ").unwrap();
        let open = OpenOptions::new().append(true).open(&path).unwrap();
        let link = dir.path().join("link");
        let number = std::os::fd::AsRawFd::as_raw_fd(&open);
        symlink(format!("/dev/fd/{number}"), &link).unwrap();
        written(&link, "this").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "keep this");
        assert!(link.is_symlink());
    }

    #[test]
    fn a_file_that_is_made_meanwhile_stays_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stress.prom");
        let file = WholeFile::at(&path, "--metrics", Existing::Refuse).unwrap();
        fs::write(&path, "of another option").unwrap();
        let error = file.write(|out| out.write_all(b"mine")).unwrap_err();
        assert!(matches!(&error, Error::Usage(text) if text.contains(IS_THERE)), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "of another option");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_there_stays_unless_it_may_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page.html");
        let link = dir.path().join("link");
        fs::write(&path, "before").unwrap();
        symlink("page.html", &link).unwrap();
        for name in [&path, &link] {
            let error = WholeFile::at(name, "--out", Existing::Refuse).unwrap_err();
            assert!(matches!(&error, Error::Usage(text) if text.contains(IS_THERE)), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), b"before");
    }

    #[test]
    fn a_link_stays_and_its_target_is_written_in_its_own_directory() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = other.path().join("target");
        let (far, near) = (dir.path().join("far"), dir.path().join("near"));
        symlink(&target, &far).unwrap();
        symlink("far", &near).unwrap();
        for text in ["a link to nothing yet", "a link to a file"] {
            assert_eq!(written(&near, text).unwrap(), near);
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
            assert!(near.is_symlink() && far.is_symlink() && !target.is_symlink());
        }
        let circle = dir.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(written(&circle, "").unwrap_err().to_string().contains("circle"));
        let lost = dir.path().join("lost");
        symlink("no/such", &lost).unwrap();
        assert!(written(&lost, "").unwrap_err().to_string().contains("there is no directory"));
    }

    #[test]
    fn a_pipe_and_a_device_get_the_bytes_and_stay_and_a_socket_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = {
            let pipe = pipe.clone();
            thread::spawn(move || fs::read_to_string(pipe).unwrap())
        };
        let file = WholeFile::at(&pipe, "--out", Existing::Refuse).unwrap();
        file.write(|out| out.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        // A link keeps the device itself out of the test's reach.
        let (full, null) = (dir.path().join("full"), dir.path().join("null"));
        symlink("/dev/full", &full).unwrap();
        symlink("/dev/null", &null).unwrap();
        assert!(written(&full, "lost").unwrap_err().to_string().contains("No space left"));
        written(&null, "nothing").unwrap();
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(written(&socket, "").unwrap_err().to_string().contains("a socket: name a file"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
    }
}
