//! `stress io`: raw random reads of the stores, point after point, beside what the device can do.

use result::io::{IoDevice, IoResult, IoState, IoStore, ORDER, SCHEMA};
use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use executor::raw::{Draw, RawError, RawReads};
use variant::StoreKind;

use crate::{
    cli::{Format, IoArgs},
    cmd::state,
    environment,
    exit::{Code, Failure, OrExit},
    facts, interrupt,
    io::{
        device::{DeviceUnder, note_reason},
        plan::IoPlan,
        point::{self, PointInput},
    },
    open::{InUse, Place},
    plan::Machine,
    progress::Progress,
    session::OpenStore,
    terminal,
};

/// Measures what the options ask for.
pub fn io(args: &IoArgs, command: Vec<String>) -> Result<Code, Failure> {
    let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |s| s.as_secs());
    let plan = IoPlan::of(args).or_exit(Code::Usage)?;
    let progress = Progress::new(terminal::look());
    // Before the state is built: the load that is warned of must not be our own.
    let data_path = state::data_path(args.data_dir.as_ref());
    let environment = environment::probe(data_path.as_deref().unwrap_or(Path::new(".")));
    let mut out = args.out.as_deref().map(report::JsonOut::at).transpose().or_exit(Code::Io)?;
    let warnings = environment::warnings(&environment).iter().map(ToString::to_string).collect();
    let mut result = IoResult {
        schema: SCHEMA,
        tool: facts::tool(&environment.build),
        command,
        started_unix_s,
        environment,
        state: IoState {
            rows: plan.family().count,
            key_layout: plan.layout.name(),
            key_bytes: plan.layout.slot_key_bytes() as u64,
            value_bytes: 32,
            present_share: plan.present_share,
        },
        read: plan.read.name(),
        seed: plan.seed,
        seconds: plan.time.as_secs_f64(),
        order: ORDER,
        stores: Vec::new(),
        interrupted: false,
        warnings,
    };
    let mut save = |result: &IoResult| match &mut out {
        Some(out) => out.write("io", result.started_unix_s, &report::json(result)).map(Some),
        None => Ok(None),
    };
    let mut measuring = Measuring { plan: &plan, progress: &progress, result: &mut result };
    let measured = measuring.all_stores(args, &mut |result| save(result).map(drop));
    progress.clear();
    result.interrupted = interrupt::happened() || measured.is_err();
    let has_points = result.stores.iter().any(|store| !store.points.is_empty());
    if has_points || measured.is_ok() {
        show(&result, args.format);
        let written = save(&result).or_exit(Code::Io)?;
        if let Some(path) = written {
            terminal::note(&format!("wrote {}", path.display()));
        }
    }
    match measured {
        Err(failure) if failure.code != Code::Interrupted || !has_points => Err(failure),
        _ if result.interrupted => Ok(Code::Interrupted),
        _ => Ok(Code::Fine),
    }
}

fn show(result: &IoResult, format: Format) {
    match format {
        Format::Table => {
            terminal::out(&report::io_table(result, terminal::width(), terminal::paint()));
        }
        Format::Json => terminal::out(&report::json(result)),
    }
}

/// Called after each point, so that whatever ends the run leaves what is finished.
type Save<'a> = dyn FnMut(&IoResult) -> Result<(), anyhow::Error> + 'a;

struct Measuring<'a> {
    plan: &'a IoPlan,
    progress: &'a Progress,
    result: &'a mut IoResult,
}

impl Measuring<'_> {
    fn all_stores(&mut self, args: &IoArgs, save: &mut Save<'_>) -> Result<(), Failure> {
        for name in &self.plan.run.stores {
            let store = self.open(*name, args)?;
            self.result.stores.push(IoStore::new(facts::store(&store)));
            self.one_store(&store, save)?;
        }
        Ok(())
    }

    /// The store, its state built where there is none.
    fn open(&self, name: StoreKind, args: &IoArgs) -> Result<OpenStore, Failure> {
        let plan = self.plan;
        let place = Place {
            data_dir: args.data_dir.as_ref(),
            in_use: InUse::Refuse,
            genesis: &plan.genesis,
            layout: plan.layout,
            scenario: "stress io",
            machine: &Machine::this(),
            progress: self.progress,
        };
        place.open(name, &plan.run)
    }

    /// Device, points, device again.
    fn one_store(&mut self, store: &OpenStore, save: &mut Save<'_>) -> Result<(), Failure> {
        let device = store.state().map(|state| DeviceUnder::of(state, self.plan.time));
        let mut device_facts = device.is_some().then(IoDevice::default);
        let device = match (device, &mut device_facts) {
            (Some(Ok(device)), Some(facts)) => {
                let stage = self.progress.stage("measuring the device", 0);
                let depths = self.plan.device_depths();
                if let Err(reason) = device.begin(&depths, facts, interrupt::flag()) {
                    note_reason(facts, reason);
                }
                stage.finish();
                Some(device)
            }
            (Some(Err(reason)), Some(facts)) => {
                note_reason(facts, reason);
                None
            }
            _ => None,
        };
        self.place().device = device_facts;
        let points = self.points(store, save);
        let progress = self.progress;
        if let (Some(device), Some(facts), Ok(())) = (device, &mut self.place().device, &points) {
            let stage = progress.stage("measuring the device again", 0);
            if let Err(reason) = device.end(facts, interrupt::flag()) {
                note_reason(facts, reason);
            }
            stage.finish();
        }
        let place = self.place();
        // What was found out only by reading, such as the memory of the index.
        place.facts = facts::store(store).facts;
        point::share_of_device(place);
        points
    }

    fn points(&mut self, store: &OpenStore, save: &mut Save<'_>) -> Result<(), Failure> {
        let plan = self.plan;
        let family = plan.family();
        let draw = Draw::new(family, plan.seed, plan.present_share);
        for (number, planned) in plan.points.iter().enumerate() {
            let name = format!("{} at depth {}", store.name(), planned.depth());
            let stage = self.progress.stage(&name, plan.points.len() as u64);
            stage.set(number as u64, plan.points.len() as u64);
            let reads = RawReads {
                family,
                draw: &draw,
                thread_count: planned.threads,
                asking: planned.asking,
                time: plan.time,
                cancel: interrupt::flag(),
            };
            let earlier_passes = draw.draw_count() / draw.period();
            let paused = self.progress.pause();
            let measured = store.read_raw(&reads);
            drop(paused);
            stage.finish();
            let measured = measured.map_err(failure)?;
            let never_cold = store.never_cold();
            let input = PointInput { planned: *planned, never_cold, earlier_passes };
            let place = self.place();
            place.points.push(point::figures(&input, &measured));
            point::share_of_device(place);
            save(self.result).or_exit(Code::Io)?;
        }
        Ok(())
    }

    /// The store that is being measured.
    fn place(&mut self) -> &mut IoStore {
        let last = self.result.stores.last_mut();
        last.unwrap_or_else(|| panic!("a store is open before it is measured"))
    }
}

fn failure(error: RawError) -> Failure {
    let code = match &error {
        RawError::Cancelled => Code::Interrupted,
        RawError::NotTogether { .. } => Code::Usage,
        RawError::Store(_) | RawError::NoThreads { .. } => Code::Io,
    };
    Failure { code, error: error.into() }
}
