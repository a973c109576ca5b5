//! docs/semantics.md is in step with the tests: every case is tried or named as left out, and every
//! test that the document names exists.

const DOCUMENT: &str = include_str!("../../../../docs/semantics.md");

const SECTIONS: [&str; 18] = [
    include_str!("a_eventfd_descriptor.rs"),
    include_str!("b_eventfd_values.rs"),
    include_str!("c_eventfd_blocking.rs"),
    include_str!("d_eventfd_polled.rs"),
    include_str!("e_epoll_descriptor.rs"),
    include_str!("f_ctl_errors.rs"),
    include_str!("g_ctl_masks.rs"),
    include_str!("h_nested.rs"),
    include_str!("i_wait_arguments.rs"),
    include_str!("j_edges.rs"),
    include_str!("j_rearming.rs"),
    include_str!("k_oneshot.rs"),
    include_str!("l_order.rs"),
    include_str!("m_wakeups.rs"),
    include_str!("n_lifetime.rs"),
    include_str!("o_targets.rs"),
    include_str!("p_selftests.rs"),
    include_str!("q_found.rs"),
];

/// The cases that were observed on Linux.
const CASES: &str = "
    E001 E002 E003 E004 E005 E006 E007 E008 E009 E010 E011 E012 E013 E014 E015 E016 E017
    E019 E020 E021 E022 E024 E025 E030 E031 E032 E033 E034 E035 E036 E037 E038 E039 E040
    E041 E042 E044 E045 E048 E050 E054 E056 E057 E060 E061 E062 E064 E065 E066 E067 E069
    E070 E071 E073 E075 E077 E078 E079 E080 Y001 Y004 Y005 E090 E094 E096 E097 E098 E099
    E100 E101 E103 E104 E109 E110 C001 C002 C003 C004 C005 C006 C007 C008 C009 C010 C020
    C021 C022 C023 C024 C025 C026 C030 C032 C034 C035 C036 C037 C040 C041 C042 C043 C045
    C051 C052 C060 C062 C063 C064 C066 C070 C071 C072 C073 C076 C090 C091 C092 C096 C098
    C100 C101 C102 S120 S121 S122 S124 S126 S131 S132 S133 S134 S136 S137 S139 S140 S141
    S142 S143 S144 S156 S158 X002 X012 X015 X021 X029 X030 Y006 Y008 S150 S151 S153 S154
    S155 Y009 S160 S161 S162 S163 S164 Y011 S169 S171 X013 W180 W181 W182 W184 W190 W191
    W192 W193 W196 W198 W203 W204 W207 W208 W212 S222 Y002 S223 S224 W220 W221 X003 X004
    S210 S211 S214 S216 S217 S218 S219 S221 S225 X010 X011 X023 X026 S230 S231 S232 S240
    S241 S242 S243 S244 X005 X006 X007 X008 X017 X018 X020 KW1 KW2 KW3 KW4 KW5 KW6 KW7 KW8
    KW9 KW10 KW11 KW12 KW13 KW14 KW15 KW16 KW17 KW18 KW19 KW20 KW21 KW22 KW23 KW24 KW25
    KW28 KW29 KW32 KW33 KW37 KW39 KW41 KW42 KW45 KW47 KW49 KW51 KW52 KW53 KW55 KW56 KW57
    KW58 KW59 KW60 KW62 KW63 KW64
";

/// Whether a test of one of the sections begins with `case_` and the id.
fn is_tested(id: &str) -> bool {
    let prefix = format!("case_{}_", id.to_lowercase());
    SECTIONS.iter().any(|section| section.contains(&prefix))
}

/// Whether the document has a line for it among those left out.
fn is_left_out(id: &str) -> bool {
    DOCUMENT.lines().any(|line| line.starts_with(&format!("| {id} |")))
}

#[test]
fn every_case_is_tried_or_named_as_left_out() {
    let neither = CASES.split_whitespace().filter(|id| !is_tested(id) && !is_left_out(id));
    assert_eq!(neither.collect::<Vec<_>>(), [""; 0], "neither tried nor named");
    let both = CASES.split_whitespace().filter(|id| is_tested(id) && is_left_out(id));
    assert_eq!(both.collect::<Vec<_>>(), [""; 0], "tried, and named as left out");
}

#[test]
fn every_test_that_the_document_names_exists() {
    let named = DOCUMENT.split('`').filter(|word| word.starts_with("case_"));
    let missing = named.filter(|name| *name != "case_").filter(|name| {
        let function = format!("fn {name}()");
        let row = format!("    {name}: |s|");
        !SECTIONS.iter().any(|section| section.contains(&function) || section.contains(&row))
    });
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}
