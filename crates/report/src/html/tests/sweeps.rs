//! Pages of sweeps: their heads, and the axes and fields of their maps.

use super::*;

/// Cells of a sweep over two keys that a result does not show; each changes the work a little, as
/// gas and digest tell.
pub(super) fn swept(more: impl Fn(&mut RunResult)) -> Vec<Shown> {
    let mut cells = Vec::new();
    for (a, share) in ["0.9", "1e-1", "0.5"].into_iter().enumerate() {
        for (b, size) in ["64MiB", "2GiB", "512B"].into_iter().enumerate() {
            let shown = result(|run| {
                let number = (10 * a + b) as u64;
                run.workload.gas = 64_000_000 + number;
                run.workload.digest = format!("0x{number}");
                let mut cell = run.cells[4].clone();
                cell.mgas_per_s.median = Some((100 + number) as f64);
                run.cells = vec![cell];
                more(run);
            });
            let keys = [("load.home", share), ("run.rocksdb.block_cache", size)];
            let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
            cells.push(Shown { swept: keys.into_iter().collect(), ..shown });
        }
    }
    cells
}

#[test]
fn keys_that_were_swept_are_axes_whatever_else_follows_from_them() {
    let cells = swept(|_| ());
    let html = page(&cells);
    let elements = elements(&html);
    compared(&elements, &jsons(&cells));
    let fields = |elements: &[Element]| {
        elements.iter().filter(|of| of.get("class").starts_with("field")).count()
    };
    assert_eq!(fields(&elements), 9, "{:?}", ids(&elements));
    for key in ["load.home", "run.rocksdb.block_cache"] {
        assert!(html.contains(&format!("<em>{key}</em>")), "{key}");
    }
    // Values stand in the order of their counts.
    let places = ["512B", "64MiB", "2GiB"].map(|size| html.find(&format!(">{size}</th>")).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    // Without the sweep nothing tells which setting is which: no map.
    let plain = cells.iter().map(|cell| Shown { swept: Keys::new(), ..cell.clone() });
    let plain: Vec<_> = plain.collect();
    assert_eq!(fields(&super::elements(&page(&plain))), 0);
    // A value that does not follow from the swept keys still tells rows apart: two maps.
    let mut both = cells;
    both.extend(swept(|run| run.workload.fork = "osaka".to_owned()));
    let html = page(&both);
    assert_eq!(fields(&super::elements(&html)), 18);
    assert!(html.contains("fork osaka"), "{html}");
}

#[test]
fn a_field_of_a_cell_that_was_left_out_has_the_figure_of_the_run_and_says_so() {
    let keys = |design: &str, io_threads: &str| {
        let keys = [("run.designs", design), ("run.io_threads", io_threads)];
        Keys::from(keys.map(|(key, value)| (key.to_owned(), value.to_owned())))
    };
    let of = |index: usize| result(|run| run.cells = vec![run.cells[index].clone()]);
    let alone = Shown { swept: keys("parallel-io", "16"), ..of(1) };
    let batched = [(3, "16"), (4, "64")]
        .map(|(index, io)| Shown { swept: keys("batched-io", io), ..of(index) });
    let left_out = vec![keys("parallel-io", "64")];
    for (left_out, field_count) in [(left_out, 4), (Vec::new(), 0)] {
        let mut cells = vec![Shown { cell: Some(7), left_out, ..alone.clone() }];
        cells.extend(batched.clone());
        let html = page(&cells);
        let elements = elements(&html);
        compared(&elements, &jsons(&cells));
        let fields: Vec<_> =
            elements.iter().filter(|of| of.get("class").starts_with("field")).collect();
        assert_eq!(fields.len(), field_count, "{html}");
        assert_eq!(html.matches("it would be the same run").count(), field_count / 4);
        assert_eq!(html.matches("this cell was left out").count(), field_count / 4);
        assert_eq!(html.matches("> = cell 7</small>").count(), field_count / 4);
        let at_64 = fields.iter().filter(|field| field.get("title").contains("bal+on-demand@2"));
        assert_eq!(at_64.count(), field_count / 2, "the run's own field, and the other");
    }
}

/// Cells of a sweep over gas and threads, with a run in order and one of two designs in each.
pub(super) fn over_gas_and_threads() -> Vec<Shown> {
    let mut cells = Vec::new();
    for gas in ["64M", "640M"] {
        for threads in [1_u64, 2, 4] {
            let shown = result(|run| {
                run.workload.gas = if gas == "64M" { 64_000_000 } else { 640_000_000 };
                run.workload.digest = format!("0x{gas}");
                run.warnings = vec!["the CPU was throttled".to_owned()];
                run.cells.truncate(2);
                run.cells[1].threads = threads;
                run.cells[1].variant = format!("rocksdb/none/parallel+on-demand@{threads}");
            });
            let keys = [("block.gas", gas.to_owned()), ("run.threads", threads.to_string())];
            let keys = keys.map(|(key, value)| (key.to_owned(), value));
            let cell = Some(cells.len() as u64);
            cells.push(Shown { swept: keys.into_iter().collect(), cell, ..shown });
        }
    }
    cells
}

#[test]
fn the_map_of_a_sweep_is_over_its_axes_and_a_run_in_order_has_a_field_in_each_cell() {
    let cells = over_gas_and_threads();
    let html = page(&cells);
    compared(&elements(&html), &jsons(&cells));
    let axes = "by <em>threads</em> (down) and <em>block.gas</em> (across): axes of the sweep";
    assert!(html.contains(axes), "{html}");
    // A map a design, and in each of them a field for each cell.
    assert_eq!(html.matches("<td class=\"field").count(), 12, "{html}");
    assert!(!html.contains("best of 2") && !html.contains("<small>no run"), "{html}");
    assert!(html.contains("as threads do not change a run in order"), "{html}");
}

#[test]
fn a_field_is_framed_only_where_its_interval_shows_it_to_be_the_fastest() {
    let framed = |interval: fn(f64) -> [f64; 2]| {
        let cells = swept(|run| {
            let cell = &mut run.cells[0];
            let gas = run.workload.gas as f64;
            let ms = gas / cell.mgas_per_s.median.expect("a median") / 1e3;
            cell.ms_per_batch.median = Some(ms);
            cell.ms_per_batch.ci95 = Some(interval(ms));
        });
        let html = page(&cells);
        html.matches("<td class=\"field best").count()
    };
    assert_eq!(framed(|ms| [ms * 0.999, ms * 1.001]), 1, "it lies apart");
    assert_eq!(framed(|ms| [ms * 0.5, ms * 2.0]), 0, "intervals overlap");
    let few = swept(|run| run.cells[0].samples.truncate(2));
    assert_eq!(page(&few).matches("<td class=\"field best").count(), 0, "no interval");
}

#[test]
fn the_figure_of_a_result_is_one_of_the_first_columns_which_a_phone_shows() {
    let html = page(&over_gas_and_threads());
    let table = &html[html.find("id=\"varied\"").expect("a table")..];
    let figure = table.find("Best, MGas/s").expect("a figure");
    assert!(figure < table.find(">block.gas<").expect("an axis"), "{table}");
}

#[test]
fn a_page_of_a_sweep_is_headed_by_that_which_its_cells_share_and_by_its_axes() {
    let cells = over_gas_and_threads();
    let html = page(&cells);
    let head = &html[html.find("<header>").unwrap()..html.find("</header>").unwrap()];
    assert!(!head.contains("</data> gas") && head.contains("1 block</data>"), "{head}");
    assert!(head.contains("they differ in gas, workload digest"), "{head}");
    assert!(head.contains("<em>block.gas</em> 64M, 640M × <em>run.threads</em> 1, 2, 4"), "{head}");
    // One result names all.
    let html = page(&cells[..1]);
    assert!(html.contains("data-value=\"64000000\">64M</data> gas, "), "{html}");
    assert!(!html.contains("they differ in") && !html.contains("Axes of the sweep"), "{html}");
}

#[test]
fn maps_of_a_page_share_a_scale_and_a_sweep_has_no_chart_of_samples() {
    let html = page(&over_gas_and_threads());
    let shades = html.split("--share:").skip(1).filter_map(|rest| rest.split('%').next());
    let shades: std::collections::BTreeSet<&str> = shades.collect();
    assert_eq!(shades.into_iter().collect::<Vec<_>>(), ["0.0", "100.0"], "two designs, two speeds");
    assert!(!html.contains("id=\"samples\""));
}

/// The texts of a page's table with this caption, row by row.
fn texts_of(html: &str, caption: &str) -> Vec<Vec<String>> {
    let start = format!("<caption class=\"sr\">{caption}</caption>");
    let table = &html[html.find(&start).expect("the table")..];
    let table = &table[..table.find("</table>").expect("its end")];
    let plain = |field: &str| {
        let mut text = String::new();
        let mut is_tag = false;
        for c in field.chars() {
            match c {
                '<' => is_tag = true,
                '>' => is_tag = false,
                c if !is_tag => text.push(c),
                _ => {}
            }
        }
        text
    };
    let fields = |row: &str| {
        let fields = row.split("</td>").flat_map(|part| part.split("</th>"));
        fields.map(plain).map(|text| text.trim().to_owned()).collect::<Vec<_>>()
    };
    table.split("</tr>").map(fields).filter(|row| row.len() > 1).collect()
}

#[test]
fn the_table_of_a_sweep_has_a_column_for_each_axis_and_a_row_for_each_cell() {
    let keys = |threads: &str, io_threads: &str| {
        let keys = [("run.threads", threads), ("run.io_threads", io_threads)];
        Keys::from(keys.map(|(key, value)| (key.to_owned(), value.to_owned())))
    };
    let result = result(|run| run.cells.truncate(1));
    let ran = Shown { swept: keys("1", "2"), cell: Some(0), ..result.clone() };
    let left_out = [("1", "4"), ("2", "2"), ("2", "4")].map(|(a, b)| keys(a, b));
    let one = [Shown { left_out: left_out.to_vec(), ..ran.clone() }];
    let [first, _, last] = left_out.map(|keys| vec![keys]);
    let two = [
        Shown { left_out: first, ..ran },
        Shown { swept: keys("2", "2"), cell: Some(2), left_out: last, ..result },
    ];
    for cells in [&one[..], &two] {
        let html = page(cells);
        compared(&elements(&html), &jsons(cells));
        let rows = texts_of(&html, "Settings that vary");
        assert_eq!(rows[0][2..4], ["I/O threads", "threads"], "{rows:?}");
        let mut values: Vec<_> = rows[1..].iter().map(|row| row[2..4].to_vec()).collect();
        values.sort();
        assert_eq!(values, [["2", "1"], ["2", "2"], ["4", "1"], ["4", "2"]], "4 cells, 4 rows");
        let marked = rows.iter().filter(|row| row[0] == "left out");
        assert_eq!(marked.clone().count(), 4 - cells.len(), "{rows:?}");
        assert!(marked.clone().all(|row| row[1].starts_with("= ")), "{rows:?}");
    }
}

#[test]
fn figures_of_a_sweep_have_its_one_command_and_those_of_other_results_their_own() {
    let command = ["stress", "sweep", "my storm.toml", "threads=1,2,4", "--set", "run.read=get"];
    let command = command.map(str::to_owned).to_vec();
    let cells = over_gas_and_threads();
    let of_sweep: Vec<Shown> =
        cells.iter().map(|cell| Shown { sweep_command: command.clone(), ..cell.clone() }).collect();
    let html = page(&of_sweep);
    let lines = "<code>stress sweep &#39;my storm.toml&#39; threads=1,2,4 --set run.read=get --out \
                 sweep-again\nstress report sweep-again --out report.html</code>";
    assert!(html.contains(lines), "{html}");
    assert!(!html.contains("more: see the list of results"), "{html}");
    // One of them is of another sweep.
    let mut mixed = of_sweep;
    mixed[0].sweep_command.clear();
    for results in [mixed, cells] {
        let html = page(&results);
        assert!(html.contains("more: see the list of results"), "{html}");
        assert!(!html.contains("sweep-again"), "{html}");
    }
}
