//! One test for each attack of the library.

use peregrine_abuse::attacks::{blocks, calls, control, data, deaf, design, resets, start};

use crate::stage::withstand;

macro_rules! rows {
    ($($name:ident: $attack:expr,)*) => {
        $(#[test]
        fn $name() {
            withstand(&$attack);
        })*

        /// Attacks that have a test here.
        const TESTED: &[&str] = &[$($attack.name),*];
    };
}

rows! {
    abuse_01_rapid_reset: resets::RAPID_RESET,
    abuse_01_rapid_reset_of_bare_heads: resets::RESET_BEFORE_BODY,
    abuse_02_reset_before_the_task_runs: resets::RESET_BEFORE_RUN,
    abuse_03_made_you_reset_by_a_window_update_of_zero: resets::ZERO_WINDOW_UPDATE,
    abuse_03_made_you_reset_by_a_window_overflow: resets::WINDOW_OVERFLOW,
    abuse_03_made_you_reset_by_data_beyond_the_window: resets::DATA_BEYOND_WINDOW,
    abuse_03_made_you_reset_by_headers_after_the_end: resets::HEADERS_AFTER_END,
    abuse_03_made_you_reset_by_data_after_the_end: resets::DATA_AFTER_END,
    abuse_03_made_you_reset_by_a_longer_body_than_said: resets::BODY_LONGER_THAN_SAID,
    abuse_03_made_you_reset_by_bad_trailers: resets::BAD_TRAILERS,
    abuse_03_made_you_reset_by_priority_on_itself: resets::BAD_PRIORITY,
    abuse_04_resets_nobody_reads: deaf::BAD_HEADS,
    abuse_04_refusals_nobody_reads: deaf::UNKNOWN_PATHS,
    abuse_05_continuation_flood: blocks::CONTINUATIONS,
    abuse_05_empty_continuation_flood: blocks::EMPTY_CONTINUATIONS,
    abuse_07_ping_flood: control::PINGS,
    abuse_07_ping_flood_nobody_reads: deaf::PINGS,
    abuse_08_settings_flood: control::SETTINGS,
    abuse_08_settings_flood_nobody_reads: deaf::SETTINGS,
    abuse_09_huge_settings_frames: control::HUGE_SETTINGS,
    abuse_10_settings_never_acknowledged: start::SETTINGS_NEVER_ACKNOWLEDGED,
    abuse_11_empty_data_flood: data::EMPTY_DATA,
    abuse_11_padding_only: data::PADDING_ONLY,
    abuse_12_tiny_data: data::TINY_DATA,
    abuse_12_tiny_messages: data::TINY_MESSAGES,
    abuse_13_priority_churn: control::PRIORITIES,
    abuse_15_window_update_flood: control::WINDOW_FLOOD,
    abuse_15_window_update_dribble: control::WINDOW_DRIBBLE,
    abuse_16_a_reply_nobody_reads: deaf::HUGE_WINDOW,
    abuse_17_replies_without_window: deaf::ZERO_WINDOWS,
    abuse_19_hpack_bomb: blocks::BOMB,
    abuse_20_forty_thousand_fields: blocks::MANY_FIELDS,
    abuse_20_forty_thousand_fields_allowed: blocks::MANY_FIELDS_ALLOWED,
    abuse_21_integer_without_end: blocks::LONG_INTEGER,
    abuse_21_integer_padded_with_zeros: blocks::PADDED_INTEGER,
    abuse_21_string_of_four_gibibytes: blocks::LONG_STRING,
    abuse_21_table_resized_over_and_over: blocks::TABLE_UPDATES,
    abuse_22_huffman_code: blocks::HUFFMAN,
    abuse_22_new_names: blocks::NEW_NAMES,
    abuse_25_fields_without_a_name: blocks::EMPTY_NAMES,
    abuse_27_frame_size_of_zero: start::FRAME_SIZE_ZERO,
    abuse_27_frame_size_below_the_least: start::FRAME_SIZE_BELOW,
    abuse_27_frame_size_above_the_most: start::FRAME_SIZE_ABOVE,
    abuse_29_more_streams_than_allowed: resets::MORE_STREAMS_THAN_ALLOWED,
    abuse_29_refused_streams_nobody_reads: deaf::REFUSALS,
    abuse_35_bad_te_before_a_long_field: calls::BAD_TE,
    abuse_37_compressed_message: calls::ZIP_BOMB,
    abuse_37_compressed_message_unannounced: calls::ZIP_BOMB_UNSAID,
    abuse_39_bodies_without_end_that_are_no_grpc: calls::ENDLESS_PLAIN_HTTP,
    abuse_38_prefix_of_four_gibibytes: data::PREFIX_LIE,
    abuse_38_prefix_at_the_limit_then_silence: data::PREFIX_AT_LIMIT,
    abuse_40_unknown_fields: calls::UNKNOWN_FIELDS,
    abuse_40_nested_groups: calls::NESTED_GROUPS,
    abuse_42_silent_connections: start::SILENT_CONNECTIONS,
    abuse_42_half_prefaces: start::HALF_PREFACES,
    abuse_42_most_of_a_first_frame: start::NO_SETTINGS,
    abuse_45_http1_request: start::HTTP1_REQUEST,
    abuse_45_http1_upgrade: start::HTTP1_UPGRADE,
    abuse_48_goaway_amid_calls: calls::GO_AWAY,
    abuse_49_connection_churn: start::CHURN,
    abuse_50_health_watches: calls::WATCHES,
    abuse_50_questions_to_reflection: calls::SYMBOLS,
    abuse_50_questions_to_reflection_nobody_reads: calls::SYMBOLS_NOBODY_READS,
    abuse_00_unknown_frames: control::UNKNOWN_FRAMES,
    abuse_00_resets_of_closed_streams: control::RESETS_OF_CLOSED,
    abuse_00_data_on_streams_the_server_has_reset: data::DATA_ON_CLOSED,
    abuse_00_memo_churn: design::MEMO_CHURN,
    abuse_00_memo_of_the_longest_heads: design::MEMO_LARGEST,
    abuse_00_memo_cleared_by_each_block: design::MEMO_CLEARED,
    abuse_00_deadlines_of_calls_that_are_over: design::DEADLINES,
    abuse_00_deadlines_over_at_once: design::EXPIRED,
    abuse_00_table_resized_before_each_call: design::TABLE_GAMES,
    abuse_00_parked_calls_woken: design::WAKING_PARKED,
    abuse_00_linked_payloads_read_slowly: design::LINKS_READ_SLOWLY,
}

#[test]
fn every_attack_has_a_test() {
    let missing: Vec<_> = peregrine_abuse::attacks::all()
        .map(|attack| attack.name)
        .filter(|name| !TESTED.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    let mut names: Vec<_> = peregrine_abuse::attacks::all().map(|attack| attack.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), peregrine_abuse::attacks::all().count(), "a name is used twice");
}
