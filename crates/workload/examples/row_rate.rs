//! Measures the row stream in rows per second, and the content digest in nanoseconds per row. The
//! rows go to a sink that only counts bytes. `row_rate [rows in millions] [threads] [maximum rows
//! of a part]`.
#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, U256};
use workload::{
    ContentDigest, Genesis, GenesisAccount, KeyRule, Layout, PartBuffers, RowError, RowSettings,
    RowStream, SenderFamily, SlotFamily, Table, ValueRule,
};

fn main() {
    let mut args = std::env::args().skip(1).map_while(|arg| arg.parse::<u64>().ok());
    let rows = args.next().unwrap_or(20) * 1_000_000;
    let threads = args.next().unwrap_or(2) as usize;
    let bucket_rows = args.next();
    let settings = |memory_bytes_max| {
        let mut settings = RowSettings::new(std::env::temp_dir());
        settings.threads = threads;
        settings.memory_bytes_max = memory_bytes_max;
        settings.part_row_count_max = bucket_rows.unwrap_or(settings.part_row_count_max);
        settings
    };
    let cases = [
        ("keccak hashed", KeyRule::Keccak, Layout::Hashed, ValueRule::Random),
        ("keccak hashed, next key", KeyRule::Keccak, Layout::Hashed, ValueRule::NextKey),
        ("keccak plain", KeyRule::Keccak, Layout::Plain, ValueRule::Random),
        ("weyl hashed", KeyRule::Weyl, Layout::Hashed, ValueRule::Random),
        ("weyl plain", KeyRule::Weyl, Layout::Plain, ValueRule::Random),
    ];
    for (name, keys, layout, values) in cases {
        let genesis = slots(rows, keys, values);
        for (place, memory) in [("memory", u64::MAX), ("file", 0)] {
            measure(&format!("{name}, {place}"), &genesis, layout, Table::Slots, &settings(memory));
        }
    }
    let senders =
        SenderFamily { first_secret: B256::repeat_byte(1), count: rows / 10, balance: U256::ONE };
    let genesis = Genesis { senders: vec![senders], ..Genesis::default() };
    measure("senders hashed, file", &genesis, Layout::Hashed, Table::Accounts, &settings(0));
    digest_rate();
}

fn slots(count: u64, keys: KeyRule, values: ValueRule) -> Genesis {
    let address = Address::repeat_byte(7);
    let account = GenesisAccount { address, ..GenesisAccount::default() };
    let family = SlotFamily { address, count, keys, values, seed: B256::repeat_byte(9) };
    Genesis { accounts: vec![account], slots: vec![family], ..Genesis::default() }
}

fn measure(
    name: &str,
    genesis: &Genesis,
    layout: Layout,
    table: Table,
    settings: &RowSettings<'_>,
) {
    let (start, cpu) = (Instant::now(), cpu_time());
    let stream = RowStream::new(genesis, layout, table, settings, &|_| ()).expect("a valid recipe");
    let (pass1, cpu1) = (start.elapsed(), cpu_time() - cpu);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..settings.threads {
            scope.spawn(|| {
                let mut buffers = PartBuffers::default();
                let mut bytes = 0;
                loop {
                    let part = next.fetch_add(1, Ordering::Relaxed);
                    if part >= stream.part_count() {
                        break;
                    }
                    let mut sink = |key: &[u8], value: &[u8]| {
                        bytes += key.len() + value.len();
                        std::hint::black_box((key, value));
                        Ok::<(), RowError>(())
                    };
                    stream.emit(part, &mut buffers, &mut sink).expect("rows");
                }
            });
        }
    });
    let (wall, cpu) = (start.elapsed(), cpu_time() - cpu);
    let rows = stream.row_count() as f64 / 1e6;
    println!(
        "{name}: {:.2} M rows/s, {:.2} a CPU-second; pass 1 {:.2} s (CPU {:.2}), all {:.2} s \
         (CPU {:.2}), {} parts, peak {} MiB",
        rows / wall.as_secs_f64(),
        rows / cpu.as_secs_f64(),
        pass1.as_secs_f64(),
        cpu1.as_secs_f64(),
        wall.as_secs_f64(),
        cpu.as_secs_f64(),
        stream.part_count(),
        peak_mib(),
    );
}

fn digest_rate() {
    let (start, count) = (Instant::now(), 20_000_000_u64);
    let mut digest = ContentDigest::default();
    let mut key = [7; 64];
    for i in 0..count {
        key[56..].copy_from_slice(&i.to_be_bytes());
        digest.add(Table::Slots, &key, &[3; 32]);
    }
    std::hint::black_box(digest);
    println!("digest: {:.1} ns a slot row", start.elapsed().as_nanos() as f64 / count as f64);
}

/// User and system time of this process (100 ticks a second on Linux).
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().filter_map(|i| fields.get(*i)?.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}
