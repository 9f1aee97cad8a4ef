#!/usr/bin/env python3
"""Finds unneeded includes: a source includes a header and mentions none of its names (tidy.py calls this).

Where a header declares a common word, or has no line in NAMES, it finds nothing. include-what-you-use finds more, but
takes 4 s for each source; this takes a second for all.
"""
import re

# Names of each header, as a regular expression of whole words.
NAMES = {
    "<algorithm>": r"std::(all_of|any_of|none_of|find(_if|_if_not|_first_of|_end)?|count(_if)?|sort|stable_sort|min|"
                   r"max|minmax|clamp|copy(_n|_if|_backward)?|fill(_n)?|equal|mismatch|lower_bound|upper_bound|"
                   r"equal_range|binary_search|remove(_if)?|unique|reverse|rotate|shuffle|sample|transform|"
                   r"replace(_if)?|generate(_n)?|for_each|partition|stable_partition|nth_element|partial_sort|search|"
                   r"max_element|min_element|minmax_element|includes|set_\w+|merge|inplace_merge|is_sorted|"
                   r"is_permutation|next_permutation|swap_ranges|adjacent_find|push_heap|pop_heap|make_heap|"
                   r"lexicographical_compare|move_backward|ranges::\w+)",
    "<array>": r"std::(array|to_array)",
    "<atomic>": r"std::(atomic\w*|memory_order\w*)",
    "<bit>": r"std::(bit_\w+|has_single_bit|popcount|countl_\w+|countr_\w+|endian|rotl|rotr)",
    "<charconv>": r"std::(from_chars|to_chars|chars_format)",
    "<chrono>": r"std::(chrono|chrono_literals)",
    "<cmath>": r"(std::)?(abs|fabs|floor|ceil|round|lround|llround|sqrt|pow|log|log2|log10|exp|isnan|isfinite|isinf|"
               r"fmod|ldexp|nan|cos|sin)",
    "<compare>": r"(std::)?(strong|weak|partial)_ordering|operator<=>",
    "<condition_variable>": r"std::(condition_variable\w*|cv_status)",
    "<csignal>": r"SIG\w+|(std::)?(signal|raise|kill|sigaction|sigset_t|sig\w+|pthread_sigmask)|siginfo_t",
    "<cstddef>": r"size_t|ptrdiff_t|std::byte|nullptr_t|offsetof|max_align_t",
    "<cstdint>": r"u?int(8|16|32|64|ptr|max)_t|U?INT(8|16|32|64)_(MAX|MIN)|U?INT64_C",
    "<cstdio>": r"(std::)?(\w*printf|f?puts|f?putc|fopen|fdopen|fclose|fread|fwrite|fflush|FILE|stdout|stderr|stdin|"
                r"rename|remove|perror|getline|f?getc|fgets|snprintf|EOF|fileno|setvbuf|BUFSIZ|tmpfile|ungetc|feof|"
                r"ferror|dprintf|fseek|ftell)",
    "<cstdlib>": r"(std::)?(getenv|setenv|unsetenv|exit|_Exit|abort|malloc|calloc|realloc|free|strto\w+|ato\w+|"
                 r"mkdtemp|mkstemp|mkostemp|EXIT_\w+|system|atexit|rand|srand|realpath|abs|div|quick_exit|putenv|"
                 r"clearenv|grantpt|unlockpt|ptsname\w*|posix_openpt|qsort|secure_getenv)",
    "<cstring>": r"(std::)?(mem(cpy|set|cmp|move|chr|rchr|mem)|str(len|cmp|ncmp|chr|rchr|str|error\w*|signal|dup|cpy|"
                 r"ncpy|cat|tok\w*|nlen|spn|cspn|casecmp)\w*|explicit_bzero|basename|sigabbrev_np|sigdescr_np)",
    "<ctime>": r"(std::)?(time_t|tm|timespec|time|clock_\w+|strftime|gmtime\w*|localtime\w*|mktime|nanosleep|"
               r"CLOCK_\w+|asctime|itimerspec|timer_\w+)",
    "<deque>": r"std::deque",
    "<filesystem>": r"(std::)?(filesystem|fs)::\w+|std::filesystem",
    "<fstream>": r"std::(basic_)?(i|o)?fstream|std::filebuf",
    "<functional>": r"std::(function|hash|less|greater|equal_to|plus|minus|ref|cref|bind\w*|invoke|reference_wrapper|"
                    r"mem_fn|identity|logical_\w+|not_fn|placeholders|multiplies)",
    "<future>": r"std::(future|promise|async|packaged_task|shared_future|launch|future_status)",
    "<initializer_list>": r"std::initializer_list",
    "<iostream>": r"std::(cout|cerr|cin|clog)",
    "<iterator>": r"std::(\w*inserter|next|prev|advance|distance|begin|end|size|ssize|data|empty|\w*iterator\w*|"
                  r"make_move_iterator|rbegin|rend)",
    "<limits>": r"std::numeric_limits",
    "<list>": r"std::list",
    "<map>": r"std::(multi)?map",
    "<memory>": r"std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this|addressof|"
                r"allocator|static_pointer_cast|dynamic_pointer_cast|owner_less|pointer_traits|destroy_at|"
                r"construct_at|to_address|default_delete)",
    "<mutex>": r"std::(\w*mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once|lock|try_lock|adopt_lock|"
               r"defer_lock)",
    "<new>": r"new\s*\(\w+|std::(bad_alloc|nothrow|launder|set_new_handler|get_new_handler|align_val_t)",
    "<numeric>": r"std::(accumulate|iota|reduce|inner_product|partial_sum|gcd|lcm|midpoint|adjacent_difference|"
                 r"transform_reduce)",
    "<optional>": r"std::(optional|nullopt\w*|make_optional|bad_optional_access|in_place)",
    "<queue>": r"std::(queue|priority_queue)",
    "<random>": r"std::(mt19937\w*|random_device|\w+_distribution|minstd_rand\w*|seed_seq|\w+_engine|"
                r"generate_canonical)",
    "<set>": r"std::(multi)?set",
    "<span>": r"std::(span|as_bytes|dynamic_extent)",
    "<sstream>": r"std::\w*stringstream|std::stringbuf",
    "<string>": r"std::(string|to_string|stoi|stol|stoll|stoul|stoull|stod|getline|char_traits|u16string|u8string)",
    "<string_view>": r"std::string_view",
    "<system_error>": r"std::(error_code|system_error|errc|error_category|system_category|generic_category|"
                      r"make_error_code|error_condition)",
    "<thread>": r"std::(thread|jthread|this_thread)",
    "<tuple>": r"std::(tuple|tie|make_tuple|forward_as_tuple|apply|ignore|tuple_size\w*|tuple_element\w*|tuple_cat)|"
               r"std::get",
    "<type_traits>": r"std::(is_\w+|enable_if\w*|decay\w*|remove_\w+|conditional\w*|underlying_type\w*|"
                     r"invoke_result\w*|true_type|false_type|common_type\w*|integral_constant|void_t|make_unsigned\w*|"
                     r"make_signed\w*|add_\w+|type_identity\w*|has_\w+)",
    "<unordered_map>": r"std::unordered_(multi)?map",
    "<unordered_set>": r"std::unordered_(multi)?set",
    "<utility>": r"std::(move|forward|swap|exchange|pair|make_pair|declval|as_const|in_place\w*|piecewise_construct|"
                 r"index_sequence\w*|make_index_sequence|integer_sequence|unreachable|cmp_\w+|in_range|to_underlying|"
                 r"get)",
    "<variant>": r"std::(variant\w*|get_if|holds_alternative|visit|monostate|get|bad_variant_access)",
    "<vector>": r"std::vector",
    "<gtest/gtest.h>": r"TEST\w*|testing|EXPECT_\w+|ASSERT_\w+|ADD_FAILURE\w*|FAIL|SUCCEED|GTEST_\w+|INSTANTIATE_\w+|"
                       r"SCOPED_TRACE",
    "<gmock/gmock.h>": r"EXPECT_THAT|ASSERT_THAT|MATCHER\w*|MOCK_\w+|EXPECT_CALL|ON_CALL|testing::(HasSubstr|_|"
                       r"ElementsAre\w*|StartsWith|EndsWith|AllOf|Not|Contains|IsEmpty|SizeIs|Each|AnyOf|"
                       r"UnorderedElementsAre\w*|Matcher|MatchesRegex|ContainsRegex|Pair|Key|Field|Property|Eq|Ne|Gt|"
                       r"Lt|Ge|Le|Return\w*|Invoke\w*|DoAll|NiceMock|StrictMock|Optional|Pointee|ResultOf|"
                       r"IsSupersetOf|IsSubsetOf|Truly|ExplainMatchResult|\w*DoubleNear|Conditional|"
                       r"BeginEndDistanceIs)",
    "absl/algorithm/container.h": r"absl::c_\w+",
    "absl/base/thread_annotations.h": r"ABSL_\w+",
    "absl/cleanup/cleanup.h": r"absl::(Cleanup|MakeCleanup)",
    "absl/container/btree_set.h": r"absl::btree_(multi)?set",
    "absl/container/flat_hash_map.h": r"absl::flat_hash_map",
    "absl/container/flat_hash_set.h": r"absl::flat_hash_set",
    "absl/container/node_hash_map.h": r"absl::node_hash_map",
    "absl/functional/function_ref.h": r"absl::FunctionRef",
    "absl/status/status.h": r"absl::(Status|StatusCode\w*|OkStatus|\w+Error|Is[A-Z]\w+)",
    "absl/status/statusor.h": r"absl::StatusOr",
    "absl/strings/ascii.h": r"absl::(ascii_\w+|AsciiStr\w+|StripAsciiWhitespace|Strip\w*AsciiWhitespace|"
                            r"RemoveExtraAsciiWhitespace)",
    "absl/strings/cord.h": r"absl::Cord\w*",
    "absl/strings/escaping.h": r"absl::(C?Hex\w*|CEscape|CUnescape|BytesToHexString|HexStringToBytes|\w*Base64\w*|"
                               r"Utf8Safe\w+|CHexEscape)",
    "absl/strings/match.h": r"absl::(StrContains\w*|StartsWith\w*|EndsWith\w*|EqualsIgnoreCase|FindLongestCommon\w+)",
    "absl/strings/numbers.h": r"absl::(Simple(Ato\w+|HexAtoi)|numbers_internal)",
    "absl/strings/str_cat.h": r"absl::(StrCat|StrAppend|AlphaNum|Hex|Dec|kZeroPad\w+|kSpacePad\w+|SixDigits)",
    "absl/strings/str_format.h": r"absl::(\w*PrintF|StrFormat|StrAppendFormat|FormatSpec|ParsedFormat|FormatStreamed|"
                                 r"FPrintF|SNPrintF|FormatUntyped)",
    "absl/strings/str_join.h": r"absl::(StrJoin|\w+Formatter)",
    "absl/strings/str_replace.h": r"absl::StrReplaceAll",
    "absl/strings/str_split.h": r"absl::(StrSplit|MaxSplits|By\w+|SkipEmpty|SkipWhitespace|AllowEmpty)",
    "absl/strings/string_view.h": r"absl::(string_view|NullSafeStringView|ClippedSubstr)",
    "absl/strings/strip.h": r"absl::(ConsumePrefix|ConsumeSuffix|StripPrefix|StripSuffix)",
    "absl/synchronization/mutex.h": r"absl::(\w*Mutex\w*|CondVar|Condition)",
    "absl/synchronization/notification.h": r"absl::Notification",
    "absl/time/clock.h": r"absl::(Now|GetCurrentTimeNanos|SleepFor)",
    "absl/time/time.h": r"absl::(Duration|Time|Seconds|Milliseconds|Microseconds|Nanoseconds|Minutes|Hours|"
                        r"ZeroDuration|Infinite\w+|To\w+|From\w+|UnixEpoch|FormatTime|FormatDuration|ParseTime|"
                        r"ParseDuration|UTCTimeZone|LocalTimeZone|TimeZone|Trunc|Floor|Ceil|DurationFromTimespec|"
                        r"TimeFrom\w+|Civil\w+|\w*DivDuration|AbsDuration)",
    "absl/types/span.h": r"absl::(Span|MakeSpan|MakeConstSpan)",
}

FIXTURES_INCLUDE = ("gtest/gtest.h", "gmock/gmock.h")  # for the tests that use these fixtures


def without_comments(text):
    text = re.sub(r'R"(\w*)\((.*?)\)\1"', '""', text, flags=re.S)
    comment_or_text = r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"'
    return re.sub(comment_or_text, lambda found: '""' if found.group()[0] == '"' else " ", text, flags=re.S)


TYPE = r"(?:class|struct|union|enum(?:\s+class)?)\s+(?:ABSL_\w+(?:\([^)]*\))?\s+)?(?:\[\[\w+\]\]\s*)?(\w+)"
DECLARATIONS = (
    TYPE, r"using\s+(\w+)\s*=", r"#\s*define\s+(\w+)", r"\b(k[A-Z]\w*)\b",
    r"^[^\s#}].*?\b(\w+)\s*\(", r"^\s+(\w+)\(.*\);",  # functions, with a type that may be in the line above
    r"^(?:inline|constexpr|extern|const)\b.*?\b(\w+)(?:\[[^\]]*\])?\s*(?:=|;|\{)")


def declared(text):
    """The names that a header declares: types, constants, functions."""
    body = without_comments(re.sub(r"^\s*#\s*include.*$", "", text, flags=re.M))
    return {name for pattern in DECLARATIONS for name in re.findall(pattern, body, flags=re.M)}


def unneeded(texts):
    """Lines `path: includes X and mentions nothing of it`; texts: of each source by its path."""
    patterns = {header: re.compile(r"(?<![\w])(?:%s)(?![\w])" % names) for header, names in NAMES.items()}
    names = {path: declared(text) for path, text in texts.items() if path.endswith(".h")}
    for path, text in sorted(texts.items()):
        body = without_comments(re.sub(r"^\s*#\s*include.*$", "", text, flags=re.M))
        words = set(re.findall(r"\w+", body))
        for opening, header in re.findall(r'^#include ([<"])([^>"]+)[>"]', text, flags=re.M):
            if header in names:
                if header.rsplit(".", 1)[0] != path.rsplit(".", 1)[0] and not words & names[header]:
                    yield f"{path}: includes {header} and mentions nothing of it"
                continue
            pattern = patterns.get(f"<{header}>") if opening == "<" else None
            pattern = pattern or patterns.get(header)
            if header in FIXTURES_INCLUDE and path.endswith(".h"):
                continue
            if pattern and not pattern.search(body):
                yield f"{path}: includes {header} and mentions nothing of it"
