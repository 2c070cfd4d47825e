//! Reads start files. A start file is a TOML file with a client's program, its commands, and texts
//! of the log lines that are searched for. `stress` ships with a start file for go-ethereum.

use std::{
    collections::BTreeMap,
    fs,
    iter::zip,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The start files that come with the program, by name.
const SHIPPED: [(&str, &str); 1] = [("geth", include_str!("../../deploy/clients/geth.toml"))];

const SETTLE_MAX_S: f64 = 86_400.0;

/// The description of how to start a client.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StartFile {
    /// The client's name in results.
    pub name: String,
    pub program: PathBuf,
    /// Arguments of the program that make a database from `genesis.json`; empty if the client makes
    /// its database when it starts.
    #[serde(default)]
    pub init: Vec<String>,
    /// A program and its arguments that make a database from an export's rows.
    #[serde(default)]
    pub fill: Vec<String>,
    /// Arguments of the program that run the client.
    pub start: Vec<String>,
    /// Texts that the line of readiness in the log must have.
    #[serde(default)]
    pub ready: Vec<String>,
    /// Maximal number of seconds from the start until the client uses hardly any CPU.
    #[serde(default = "default_settle_s")]
    pub settle_s: f64,
    /// Variables of the client's environment, beside those of this program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The place of a block's time in the client's log; `None` if the log has no such time.
    pub own_time: Option<OwnTime>,
    /// Files that are written for the client, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// The place of a block's time in a log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnTime {
    /// Text of the lines that have the time.
    pub line: String,
    /// Pointer to the block's hash in the line's JSON (RFC 6901).
    pub hash: String,
    /// Pointer to the block's time in milliseconds.
    pub json: String,
    /// Pointer to the time for hashing the state, in milliseconds; `None` if the log does not have
    /// it.
    pub root: Option<String>,
}

/// A client's own times of a block, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnTimes {
    pub total_ns: u64,
    /// Time for hashing the state, a part of `total_ns`.
    pub root_ns: Option<u64>,
}

/// Default number of seconds within which a client must settle.
const fn default_settle_s() -> f64 {
    120.0
}

/// The placeholders in arguments, in the order of the fields of [`Placeholders`].
const PLACEHOLDERS: [&str; 6] = ["{datadir}", "{genesis}", "{rows}", "{port}", "{jwt}", "{files}"];

/// Values of the placeholders in arguments.
#[derive(Clone, Debug)]
pub struct Placeholders {
    /// The client's database.
    pub datadir: PathBuf,
    /// The export's `genesis.json`, or its file with the chain's settings.
    pub genesis: PathBuf,
    /// The directory of the export, which has rows.
    pub rows: PathBuf,
    pub port: u16,
    /// The file with the secret of the Engine API.
    pub jwt: PathBuf,
    /// The directory with the files that the start file names in `[files]`.
    pub files: PathBuf,
}

impl Placeholders {
    /// Returns `arguments` with the values of their placeholders.
    pub fn filled(&self, arguments: &[String]) -> Vec<String> {
        let Self { datadir, genesis, rows, port, jwt, files } = self;
        let [datadir, genesis, rows, jwt, files] =
            [datadir, genesis, rows, jwt, files].map(|path| path.display().to_string());
        let values = [datadir, genesis, rows, port.to_string(), jwt, files];
        let filled = arguments.iter().map(|argument| {
            zip(PLACEHOLDERS, &values)
                .fold(argument.clone(), |text, (word, value)| text.replace(word, value))
        });
        filled.collect()
    }
}

impl StartFile {
    /// Loads the shipped start file of this name, or a start file by its path.
    ///
    /// # Errors
    /// There is no such file, or it is not valid.
    pub fn load(name: &str) -> Result<Self> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Self::parse(name, text);
        }
        let text = fs::read_to_string(name).with_context(|| {
            let shipped = SHIPPED.map(|(shipped, _)| shipped).join(", ");
            format!("--client {name}: no start file; shipped are: {shipped}")
        })?;
        let mut file = Self::parse(name, &text)?;
        file.program = beside(Path::new(name), &file.program);
        if let Some(filler) = file.fill.first_mut() {
            *filler = beside(Path::new(name), Path::new(filler.as_str())).display().to_string();
        }
        Ok(file)
    }

    /// Returns a start file by which the client's database is always made from rows.
    ///
    /// # Errors
    /// The start file has no command that reads rows.
    pub fn always_filled(mut self) -> Result<Self> {
        ensure!(
            !self.fill.is_empty(),
            "--fill: the start file {} has no command that reads rows: add one (fill = …, \
             docs/import-export.md)",
            self.name
        );
        self.init.clear();
        Ok(self)
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let file: Self = toml::from_str(text).with_context(|| format!("start file {name}"))?;
        ensure!(
            is_file_name(&file.name),
            "start file {name}: name = {:?}: letters, digits and -_. make a name",
            file.name
        );
        ensure!(!file.start.is_empty(), "start file {name}: start has no argument");
        ensure!(
            file.settle_s > 0.0 && file.settle_s <= SETTLE_MAX_S,
            "start file {name}: settle_s = {}: a number of seconds up to {SETTLE_MAX_S} is wanted",
            file.settle_s
        );
        for own in file.files.keys() {
            ensure!(
                is_file_name(own),
                "start file {name}: [files] {own:?}: letters, digits and -_. make a file name"
            );
        }
        for (variable, value) in &file.env {
            ensure!(
                !variable.is_empty()
                    && !variable
                        .contains(|c: char| c == '=' || c.is_whitespace() || c.is_control()),
                "start file {name}: [env] {variable:?}: a name of a variable is wanted, without = and \
                 white space, as in GOMAXPROCS = \"1\""
            );
            ensure!(
                !value.contains('\0'),
                "start file {name}: [env] {variable}: the value has a NUL, and no variable can"
            );
        }
        for argument in file.init.iter().chain(&file.fill).chain(&file.start) {
            if let Some(word) = unknown_placeholder(argument) {
                bail!(
                    "start file {name}: {word} in {argument:?}: placeholders are {{datadir}}, \
                     {{genesis}}, {{rows}}, {{port}}, {{jwt}} and {{files}}"
                );
            }
        }
        for word in ["{rows}", "{datadir}"] {
            ensure!(
                file.fill.is_empty() || file.fill.iter().any(|argument| argument.contains(word)),
                "start file {name}: fill must say {word}: it makes the database from the export's rows"
            );
        }
        for word in ["{port}", "{jwt}"] {
            ensure!(
                file.start.iter().any(|argument| argument.contains(word)),
                "start file {name}: start must say {word}: the client would listen elsewhere, or \
                 refuse every token"
            );
        }
        Ok(file)
    }

    /// Whether a line of the log says that the client is ready.
    pub fn is_ready(&self, line: &str) -> bool {
        !self.ready.is_empty() && self.ready.iter().all(|text| line.contains(text))
    }

    /// Returns hash and times of the block in a line of the log.
    pub fn own_times(&self, line: &str) -> Option<(String, OwnTimes)> {
        let own = self.own_time.as_ref().filter(|own| line.contains(&own.line))?;
        let json = &line[line.find('{')?..];
        let json: Value = serde_json::from_str(json.trim_end()).ok()?;
        let hash = json.pointer(&own.hash)?.as_str()?.to_owned();
        let root_ns = own.root.as_deref().and_then(|pointer| ms_as_ns(&json, pointer));
        Some((hash, OwnTimes { total_ns: ms_as_ns(&json, &own.json)?, root_ns }))
    }

    /// Returns the maximal time for which the client may use CPU after its start.
    pub fn settle_max(&self) -> Duration {
        Duration::try_from_secs_f64(self.settle_s).unwrap_or_default()
    }
}

/// Returns the path of a program that the start file names relative to itself. A bare name stays,
/// and is looked for on PATH.
fn beside(start_file: &Path, program: &Path) -> PathBuf {
    match start_file.parent() {
        Some(dir) if program.components().count() > 1 => dir.join(program),
        _ => program.to_owned(),
    }
}

/// Reads milliseconds from a JSON value (RFC 6901), and returns nanoseconds.
fn ms_as_ns(json: &Value, pointer: &str) -> Option<u64> {
    let ms = json.pointer(pointer)?.as_f64()?;
    (ms.is_finite() && ms >= 0.0).then_some((ms * 1e6) as u64)
}

/// Whether a name has only letters, digits and `-_.`, and is no hidden file.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('.')
}

/// Whether a character may be in a name that no shell has to quote.
pub fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// Returns a word in braces that is no placeholder.
fn unknown_placeholder(argument: &str) -> Option<&str> {
    let starts = argument.match_indices('{').map(|(at, _)| &argument[at..]);
    let mut words = starts.filter_map(|rest| Some(&rest[..=rest.find('}')?]));
    words.find(|word| {
        word[1..word.len() - 1].chars().all(|c| c.is_ascii_lowercase())
            && !PLACEHOLDERS.contains(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_start_files_are_valid_and_their_placeholders_are_filled() {
        for (name, _) in SHIPPED {
            let file = StartFile::load(name).unwrap();
            assert_eq!(file.name, name);
            let places = Placeholders {
                datadir: "/d".into(),
                genesis: "/g.json".into(),
                rows: "/r".into(),
                port: 8551,
                jwt: "/j".into(),
                files: "/f".into(),
            };
            let words = [&file.init, &file.fill, &file.start].map(|words| places.filled(words));
            let words = words.concat();
            assert!(words.iter().all(|word| !word.contains(['{', '}'])), "{words:?}");
            for value in ["8551", "/g.json", "/r"] {
                assert!(words.iter().any(|word| word == value), "{value} is not in {words:?}");
            }
        }
    }

    #[test]
    fn the_time_of_a_block_is_read_from_the_line_that_has_it() {
        let file = StartFile::load("geth").unwrap();
        let line = r#"WARN [01-02|15:04:05.000] {"level":"warn","msg":"Slow block","block":{"number":1,"hash":"0x7"},"timing":{"total_ms":12.5,"state_hash_ms":2}}"#;
        let times = |line: &str| file.own_times(line);
        let block = |root_ns| Some(("0x7".to_owned(), OwnTimes { total_ns: 12_500_000, root_ns }));
        assert_eq!(times(line), block(Some(2_000_000)));
        assert_eq!(times(&line.replace("state_hash_ms", "other_ms")), block(None));
        assert_eq!(times(&line.replace("Slow block", "Fast block")), None);
        assert_eq!(times(&line.replace("12.5", "\"12.5\"")), None);
        assert_eq!(times(&line.replace("\"hash\"", "\"number\"")), None, "of which block?");
        assert_eq!(times(&line.replace("}}", "")), None);
        assert!(file.is_ready("INFO HTTP server started endpoint=127.0.0.1:8551 auth=true"));
        assert!(!file.is_ready("INFO HTTP server started endpoint=127.0.0.1:8545 auth=false"));
    }

    #[test]
    fn programs_with_a_path_lie_beside_the_start_file_and_filling_can_be_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.toml");
        let text = SHIPPED[0].1.replace("\"geth-fill\"", "\"bin/geth-fill\"");
        fs::write(&path, text.replace("program = \"geth\"", "program = \"./geth\"")).unwrap();
        let file = StartFile::load(path.to_str().unwrap()).unwrap();
        assert_eq!(file.program, dir.path().join("./geth"));
        assert_eq!(Path::new(&file.fill[0]), dir.path().join("bin/geth-fill"));
        assert_eq!(
            StartFile::load("geth").unwrap().fill[0],
            "geth-fill",
            "it is looked for on PATH"
        );
        let always = file.clone().always_filled().unwrap();
        assert_eq!(always, StartFile { init: Vec::new(), ..file.clone() });
        let none = StartFile { fill: Vec::new(), ..file };
        let error = none.always_filled().unwrap_err().to_string();
        assert!(error.contains("--fill") && error.contains("fill = …"), "{error}");
    }

    #[test]
    fn a_start_file_that_is_not_valid_says_where_and_what_to_write() {
        let with = |change: fn(&str) -> String| {
            let error = StartFile::parse("x.toml", &change(SHIPPED[0].1)).unwrap_err();
            format!("{error:#}")
        };
        let unknown = with(|text| text.replace("program =", "programme ="));
        assert!(unknown.contains("x.toml") && unknown.contains("programme"), "{unknown}");
        let place = with(|text| text.replace("{port}", "{prot}"));
        assert!(place.contains("{prot}") && place.contains("{port}"), "{place}");
        let missing = with(|text| text.replace("\"{jwt}\"", "\"secret\""));
        assert!(missing.contains("must say {jwt}"), "{missing}");
        let name = with(|text| text.replace("name = \"geth\"", "name = \"../geth\""));
        assert!(name.contains("make a name"), "{name}");
        let fill = with(|text| text.replace("\"{rows}\"", "\"rows\""));
        assert!(fill.contains("fill must say {rows}"), "{fill}");
        let variable = with(|text| format!("{text}\n[env]\n\"GOGC=5\" = \"\"\n"));
        assert!(variable.contains("[env] \"GOGC=5\"") && variable.contains("as in"), "{variable}");
        let nul = with(|text| format!("{text}\n[env]\nGOGC = \"\\u0000\"\n"));
        assert!(nul.contains("[env] GOGC") && nul.contains("NUL"), "{nul}");
        let number = with(|text| format!("{text}\n[env]\nGOMAXPROCS = 1\n"));
        assert!(number.contains("GOMAXPROCS = 1") && number.contains("string"), "{number}");
        let settle = with(|text| text.replace("program =", "settle_s = 0\nprogram ="));
        assert!(settle.contains("settle_s = 0") && settle.contains("seconds"), "{settle}");
        let error = format!("{:#}", StartFile::load("/nonexistent.toml").unwrap_err());
        assert!(error.contains("shipped are: geth"), "{error}");
    }
}
