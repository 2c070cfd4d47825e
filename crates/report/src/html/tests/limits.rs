//! Pages of safe limits.

use result::{example, limit::Place, stored::StoredLimit};

use super::*;
use crate::html::page_of_limits;

#[test]
fn every_number_of_a_limit_is_the_one_of_its_result_and_a_hostile_name_is_text() {
    let mut result = example::limit::example();
    result.loads[1].scenario = "<b>&".to_owned();
    let json = serde_json::to_value(&result).unwrap();
    let designs = result.loads.iter().flat_map(|load| &load.designs);
    let outside = designs.filter(|of| matches!(of.place, Some(Place::Above | Place::Below)));
    let outside_count = outside.count();
    let html = page_of_limits(&[StoredLimit { path: "limit.json".into(), result }]);
    let elements = elements(&html);
    let places = compared(&elements, &[json]);
    let of_limits = "/loads/0/designs/0/limit_gas /loads/0/designs/0/half_width_gas \
         /loads/0/designs/1/ns_per_operation_ci95/1 /loads/0/designs/1/check/predicted_ns/0 \
         /loads/1/designs/0/price_factor /loads/1/designs/1/blocks/0/block_ns/2";
    has_places(&places, 0, of_limits);
    has_ids(&elements, "verdict limits blocks checks results");
    assert!(html.contains("&lt;b&gt;&amp;, in order") && !html.contains("<b>"), "{html}");
    // The factor of a limit above all is below its figure, and the other way round.
    assert!(outside_count > 0);
    for sign in ["&lt; <data", "&gt; <data"] {
        assert_eq!(html.matches(sign).count(), outside_count, "{sign}");
    }
    assert!(html.contains("✓ within") && html.contains("✗ outside"));
}
