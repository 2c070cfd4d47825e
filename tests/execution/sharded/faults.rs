//! Any fault of a shard, the network or the list ends the sample, and the error names its source.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use alloy_primitives::{B256, U256};
use executor::{
    engine::EngineError,
    sample::Measurement,
    shards::{
        Assignment, Channel, Conversation, Finished, KeyRequest, Report, ShardError, ShardStep,
        Shards, StateValues,
    },
};
use shard::{Cluster, ClusterInput};
use variant::{ListForm, PartitionTime, Sharding};
use workload::{Workload, list::ListBounds};

use super::{
    PROGRAM, Server, generated, reach, running, sample, sample_optimistic, sample_with, variant,
};
use crate::hostile;

fn refused(input: &ClusterInput) -> String {
    Cluster::connect(input).expect_err("it is refused").0
}

fn storm() -> Workload {
    generated("kind = \"sload-storm\"", "gas = \"8M\"\ntx_gas = \"1M\"")
}

#[test]
fn a_wrong_list_is_blamed_on_the_list_and_not_on_the_shard_that_finds_it() {
    let running = running(2);
    let cluster = &running.cluster;
    let workload = storm();
    let before = Sharding { partition_time: PartitionTime::Before, ..Sharding::on(2) };
    for list in hostile::lists(&workload, ListForm::BatchedIo) {
        let lists = std::slice::from_ref(&list.bytes);
        for sharding in [Sharding::on(1), Sharding::on(2), before] {
            match sample_with(&workload, lists, cluster, variant(sharding, 2)) {
                Err(EngineError::List { .. }) => {}
                other => {
                    let other = other.map(|taken| taken.disagreement);
                    panic!("{}, {sharding}: {other:?}", list.what)
                }
            }
        }
    }
    // The shards work as before afterwards.
    assert_eq!(sample(&workload, cluster, Sharding::on(2), 2).unwrap().disagreement, None);
}

/// Replaces a shard's report by wrong ones.
pub(super) type Wrong = fn(Report) -> Vec<Report>;

/// Shards of which the first sends wrong reports, or gets wrong answers.
#[derive(Debug)]
pub(super) struct Faulty<'c> {
    inner: &'c Cluster,
    wrong: Wrong,
    /// Changes each answer to the first shard.
    answered: fn(&mut StateValues),
}

impl<'c> Faulty<'c> {
    pub(super) fn new(inner: &'c Cluster, wrong: Wrong) -> Self {
        Self { inner, wrong, answered: |_| () }
    }
}

struct FaultyTalk<'c> {
    inner: Box<dyn Conversation + 'c>,
    wrong: Option<Wrong>,
    answered: fn(&mut StateValues),
    held: Vec<Report>,
}

impl Shards for Faulty<'_> {
    fn count(&self) -> usize {
        self.inner.count()
    }

    fn name(&self, shard: usize) -> String {
        self.inner.name(shard)
    }

    fn load(&self, shard: usize, workload: &Workload, stop: &AtomicBool) -> Result<(), ShardError> {
        self.inner.load(shard, workload, stop)
    }

    fn begin<'a>(
        &'a self,
        shard: usize,
        assignment: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<Box<dyn Conversation + 'a>, ShardError> {
        let inner = self.inner.begin(shard, assignment, stop)?;
        let wrong = (shard == 0).then_some(self.wrong);
        let answered = if shard == 0 { self.answered } else { |_: &mut StateValues| () };
        Ok(Box::new(FaultyTalk { inner, wrong, answered, held: Vec::new() }))
    }

    fn begin_optimistic<'a>(
        &'a self,
        shard: usize,
        of: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<Channel<'a>, ShardError> {
        self.inner.begin_optimistic(shard, of, stop)
    }
}

impl Conversation for FaultyTalk<'_> {
    fn receive(&mut self, stop: &AtomicBool) -> Result<Report, ShardError> {
        while self.held.is_empty() {
            let report = self.inner.receive(stop)?;
            self.held = match self.wrong {
                Some(wrong) => wrong(report),
                None => vec![report],
            };
        }
        Ok(self.held.remove(0))
    }

    fn answer(&mut self, request: u64, mut values: StateValues) -> Result<(), ShardError> {
        (self.answered)(&mut values);
        self.inner.answer(request, values)
    }
}

/// The report, with a request after the report of readiness.
fn once_ready(report: Report, keys: KeyRequest) -> Vec<Report> {
    match report {
        Report::Ready => vec![Report::Ready, Report::Request { request: 1 << 40, keys }],
        other => vec![other],
    }
}

/// The report, with all its transactions changed.
fn each_tx(report: Report, change: impl Fn(&mut ShardStep)) -> Vec<Report> {
    let Report::Steps(mut steps) = report else { return vec![report] };
    steps.iter_mut().filter(|step| step.result.is_some()).for_each(change);
    vec![Report::Steps(steps)]
}

#[test]
fn whatever_a_shard_answers_wrong_ends_the_sample_with_its_name() {
    let running = running(2);
    let cluster = &running.cluster;
    let workload = generated("kind = \"erc20\"", "gas = \"3M\"");
    let wrongs: [(&str, Wrong); 18] = [
        ("slot 0x", |report| {
            each_tx(report, |step| {
                step.writes.slots.iter_mut().for_each(|slot| slot.2 += U256::ONE);
            })
        }),
        ("the list has", |report| each_tx(report, |step| step.writes.slots.clear())),
        ("twice", |report| {
            each_tx(report, |step| {
                if let [first, .., last] = &mut step.writes.slots[..] {
                    *last = *first;
                }
            })
        }),
        ("has a gas limit of", |report| {
            each_tx(report, |step| {
                step.result.iter_mut().for_each(|of| of.gas.block_regular_gas = u64::MAX);
            })
        }),
        ("twice that it is ready", |report| match report {
            Report::Ready => vec![Report::Ready, Report::Ready],
            other => vec![other],
        }),
        ("which it was not to run", |report| each_tx(report, |step| step.index += 1_000_000)),
        ("or twice", |report| match report {
            Report::Steps(_) => vec![report.clone(), report],
            other => vec![other],
        }),
        ("of another kind of step", |report| each_tx(report, |step| step.result = None)),
        ("sent no result of step", |report| match report {
            Report::Steps(_) => Vec::new(),
            other => vec![other],
        }),
        ("words of bits", |report| match report {
            Report::Done(mut finished) => {
                finished.accessed_keys.slots.push(1);
                vec![Report::Done(finished)]
            }
            other => vec![other],
        }),
        ("it wants slot 4294967295", |report| {
            once_ready(report, KeyRequest { slots: vec![u32::MAX], ..KeyRequest::default() })
        }),
        ("it wants slot 0 of the list again", |report| {
            once_ready(report, KeyRequest { slots: vec![0, 0], ..KeyRequest::default() })
        }),
        ("which no account has that it was given", |report| {
            let codes = vec![B256::repeat_byte(7)];
            once_ready(report, KeyRequest { codes, ..KeyRequest::default() })
        }),
        ("it wants no key", |report| once_ready(report, KeyRequest::default())),
        ("it sent no step as results", |report| match report {
            Report::Ready => vec![Report::Ready, Report::Steps(Vec::new())],
            other => vec![other],
        }),
        ("it says more before it says that it is ready", |report| match report {
            Report::Ready => Vec::new(),
            other => vec![other],
        }),
        ("and never that it was ready", |report| match report {
            Report::Ready => vec![Report::Done(Finished::default())],
            other => vec![other],
        }),
        ("runs this step without a fault", |report| match report {
            Report::Steps(steps) => {
                let index = Some(steps[0].index);
                vec![Report::Failed { index, reason: "it is tired".to_owned() }]
            }
            other => vec![other],
        }),
    ];
    for (what, wrong) in wrongs {
        let faulty = Faulty::new(cluster, wrong);
        match sample(&workload, &faulty, Sharding::on(2), 1) {
            Err(EngineError::Shard { shard, reason, .. }) => {
                assert_eq!(shard, cluster.name(0), "{what}");
                assert!(reason.contains(what), "{what:?} is not in {reason:?}");
            }
            other => panic!("{what}: {:?}", other.map(|taken| taken.disagreement)),
        }
        assert_eq!(
            sample(&workload, cluster, Sharding::on(2), 1).unwrap().disagreement,
            None,
            "{what}"
        );
    }
    // No check inside the clock can find a wrong receipt: the comparison after it names the shard.
    let wrong: Wrong = |report| {
        each_tx(report, |step| step.result.iter_mut().for_each(|of| of.output = vec![7].into()))
    };
    let taken = sample(&workload, &Faulty::new(cluster, wrong), Sharding::on(2), 1).unwrap();
    let told = taken.disagreement.unwrap().to_string();
    assert!(told.contains(&format!("run by {}", cluster.name(0))), "{told}");
}

#[test]
fn a_shard_that_is_answered_with_fewer_values_than_it_wants_tells_why_it_ends() {
    let running = running(2);
    let workload = generated("kind = \"erc20\"", "gas = \"3M\"");
    let answered = |values: &mut StateValues| {
        values.accounts.pop();
    };
    let faulty = Faulty { answered, ..Faulty::new(&running.cluster, |report| vec![report]) };
    match sample(&workload, &faulty, Sharding::on(2), 1) {
        Err(EngineError::Shard { shard, reason, .. }) => {
            assert_eq!(shard, running.cluster.name(0));
            assert!(reason.contains("the coordinator answered"), "{reason}");
        }
        other => panic!("{:?}", other.map(|taken| taken.disagreement)),
    }
}

#[test]
fn code_that_is_not_that_of_its_hash_ends_the_sample_with_the_shards_name() {
    let running = running(1);
    let workload = generated("kind = \"deploy\"", "gas = \"20M\"");
    let wrong: Wrong = |report| {
        each_tx(report, |step| {
            for (_, code) in step.writes.accounts.iter_mut().filter_map(|write| write.code.as_mut())
            {
                *code = vec![0].into();
            }
        })
    };
    let faulty = Faulty::new(&running.cluster, wrong);
    match sample(&workload, &faulty, Sharding::on(1), 1) {
        Err(EngineError::Shard { reason, .. }) => {
            assert!(reason.contains("has not the hash"), "{reason}");
        }
        other => panic!("{:?}", other.map(|taken| taken.disagreement)),
    }
}

/// Forwards bytes between a coordinator and a shard, up to a number of bytes from the shard.
struct Network {
    address: SocketAddr,
    forwarded: Arc<AtomicU64>,
}

/// End of the forwarding.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    /// Nothing arrives any more, and the connection stays.
    Silence,
    /// The connection ends.
    End,
}

impl Network {
    fn start(to: SocketAddr, most_bytes: u64, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let forwarded = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&forwarded);
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let far = TcpStream::connect(to).unwrap();
                let (near_out, far_out) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                thread::spawn(move || drop(std::io::copy(&mut &near, &mut &far_out)));
                let count = Arc::clone(&count);
                thread::spawn(move || forward(far, near_out, &count, most_bytes, then));
            }
        });
        Self { address, forwarded }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, count: &AtomicU64, most: u64, then: Then) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if count.fetch_add(read as u64, Ordering::Relaxed) + read as u64 > most {
            if then == Then::End {
                drop(to.shutdown(Shutdown::Both));
                drop(from.shutdown(Shutdown::Both));
            }
            // Silence: the connection stays until the coordinator closes it.
            drop(from.read(&mut bytes));
            return;
        }
        if to.write_all(&bytes[..read]).is_err() {
            return;
        }
    }
}

/// Takes a sample of one of the designs that shards execute.
type Sampled = fn(&Workload, &dyn Shards, Sharding, usize) -> Result<Measurement, EngineError>;

#[test]
fn a_network_that_is_cut_or_silent_ends_the_sample_within_the_deadline() {
    let workload = storm();
    // The end of a connection is reported at once, however long a silence may be.
    let ended = (Then::End, "ended", Duration::from_secs(60));
    let silent = (Then::Silence, "says nothing for 0.3 s", Duration::from_millis(300));
    for ((then, words, deadline), sample) in [
        (ended, sample as Sampled),
        (silent, sample),
        (ended, sample_optimistic),
        (silent, sample_optimistic),
    ] {
        // A new server: one that was cut off may still execute its batch for a while.
        let server = Server::start(PROGRAM, None);
        // Half of these bytes cover greeting, loading and a part of the batch.
        let network = Network::start(server.address, u64::MAX, then);
        let whole = ClusterInput { deadline: Duration::from_secs(9), ..reach(&[network.address]) };
        let cluster = Cluster::connect(&whole).unwrap();
        assert_eq!(sample(&workload, &cluster, Sharding::on(1), 1).unwrap().disagreement, None);
        drop(cluster);
        let most = network.forwarded.load(Ordering::Relaxed) / 2;
        let network = Network::start(server.address, most, then);
        let short = ClusterInput { deadline, ..reach(&[network.address]) };
        let cluster = Cluster::connect(&short).unwrap();
        match sample(&workload, &cluster, Sharding::on(1), 1) {
            Err(EngineError::Shard { shard, reason, .. }) => {
                assert!(shard.contains(&network.address.to_string()), "{shard}");
                assert!(reason.contains(words), "{words:?} is not in {reason:?}");
            }
            other => panic!("{words}: {:?}", other.map(|taken| taken.disagreement)),
        }
        drop(cluster);
    }
}

#[test]
fn an_assignment_that_would_take_a_shards_memory_is_refused_with_both_numbers() {
    let running = running(1);
    let workload = storm();
    let stop = AtomicBool::new(false);
    running.cluster.load(0, &workload, &stop).unwrap();
    let bounds = ListBounds::new(&workload.batches[0], &workload.rules);
    let assignment = Assignment {
        batch: 0,
        list: workload.batches[0].list.clone(),
        steps: vec![0, 1],
        thread_count: 1,
        micro_batch_key_count: 256,
        delay: Duration::ZERO,
    };
    let long = vec![0; bounds.max_bytes() as usize + 1];
    for (assignment, words) in [
        (
            Assignment { thread_count: 5_000, ..assignment.clone() },
            "5000 threads, and a shard has 1 to 1024".to_owned(),
        ),
        (Assignment { thread_count: 0, ..assignment.clone() }, "0 threads".to_owned()),
        (
            Assignment { list: long.into(), ..assignment },
            format!("one of this batch has {} at most", bounds.max_bytes()),
        ),
    ] {
        let begun = running.cluster.begin(0, &assignment, &stop);
        let heard = begun.and_then(|mut talk| talk.receive(&stop));
        let ShardError(reason) = heard.unwrap_err();
        assert!(reason.contains(&words), "{words:?} is not in {reason:?}");
    }
}

#[test]
fn a_second_coordinator_is_refused_while_a_batch_is_under_way() {
    let server = Server::start(PROGRAM, None);
    let workload = storm();
    let [first, second] = [(); 2].map(|()| Cluster::connect(&reach(&[server.address])).unwrap());
    let stop = AtomicBool::new(false);
    first.load(0, &workload, &stop).unwrap();
    let assignment = Assignment {
        batch: 0,
        list: workload.batches[0].list.clone(),
        steps: vec![0, 1],
        thread_count: 1,
        micro_batch_key_count: 256,
        delay: Duration::ZERO,
    };
    // The shard is ready, and waits for values.
    let mut talk = first.begin(0, &assignment, &stop).unwrap();
    assert_eq!(talk.receive(&stop).unwrap(), Report::Ready);
    let told = second.load(0, &workload, &stop).unwrap_err().0;
    assert!(told.contains("another coordinator has a batch under way"), "{told}");
    drop(talk);
    drop(first);
    // The shard gives up the batch, and serves the next caller.
    let since = std::time::Instant::now();
    while let Err(ShardError(told)) = second.load(0, &workload, &stop) {
        assert!(told.contains("another coordinator") && since.elapsed().as_secs() < 60, "{told}");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(sample(&workload, &second, Sharding::on(1), 1).unwrap().disagreement, None);
    drop(second);
}

#[test]
fn an_address_without_a_shard_is_one_error() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = refused(&reach(&[free]));
    assert!(error.contains(&format!("the shard at {free} cannot be reached")), "{error}");
    assert!(error.contains(&format!("stress shard serve --listen {free}")), "{error}");

    // A server that accepts connections and never answers, and a server that is no shard.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = refused(&reach(&[silent.local_addr().unwrap()]));
    assert!(error.contains("does not"), "{error}");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in other.incoming().map_while(Result::ok) {
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno"));
        }
    });
    let error = refused(&reach(&[address]));
    assert!(error.contains(&address.to_string()), "{error}");
    // Addresses by name: a remedy must name an address to listen on.
    let by_name = vec!["localhost:1".to_owned(), "no-such-host.invalid:7001".to_owned()];
    let error = refused(&ClusterInput { addresses: by_name.clone(), ..reach(&[]) });
    assert!(error.contains("`stress shard serve --listen 127.0.0.1:1`"), "{error}");
    let error = refused(&ClusterInput { addresses: by_name[1..].to_vec(), ..reach(&[]) });
    assert!(
        error.contains("STRESS_SHARD_TOKEN=… stress shard serve --listen 0.0.0.0:7001"),
        "{error}"
    );
    let error =
        refused(&ClusterInput { addresses: vec!["not an address".to_owned()], ..reach(&[]) });
    assert!(error.contains("HOST:PORT"), "{error}");
}

#[test]
fn a_shard_of_another_version_or_with_another_token_is_refused_by_name() {
    let server = Server::start("stress of yesterday", None);
    let error = refused(&reach(&[server.address]));
    for word in [&server.address.to_string(), "stress of yesterday", PROGRAM, "another version"] {
        assert!(error.contains(word), "{word:?} is not in {error:?}");
    }
    let server = Server::start(PROGRAM, Some("secret"));
    for token in [None, Some("guess")] {
        let token = token.map(str::to_owned);
        let error = refused(&ClusterInput { token, ..reach(&[server.address]) });
        assert!(error.contains("STRESS_SHARD_TOKEN"), "{error}");
    }
    let token = Some("secret".to_owned());
    let cluster = Cluster::connect(&ClusterInput { token, ..reach(&[server.address]) }).unwrap();
    assert_eq!(sample(&storm(), &cluster, Sharding::on(1), 1).unwrap().disagreement, None);
    drop(cluster);
}
