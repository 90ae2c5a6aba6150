// The text that a chat template makes of a pair, beside Jinja's with transformers' settings.

#include "directory/pair_template.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace bert {
namespace {

struct Case {
  const char *form, *instruction, *text;
};
// What jinja2 3.1 renders, with trim_blocks and lstrip_blocks.
constexpr Case kCases[] = {
    {"{# note #}{% set n0 = messages | selectattr( \"role\" , \"equalto\" , \"query\" "
     ")|map(attribute = 'content') | first %}{#- note #}{{- messages | selectattr(\"role\", "
     "\"eq\", \"document\") | map(attribute=\"content\") | first }}\n  y{{ messages | "
     "selectattr(\"role\", \"eq\", \"query\") | map(attribute=\"content\") | first }}}}",
     "", "dd \n  y qq\n}}"},
    {"\n\n\n\n{{ messages | selectattr(\"role\", \"eq\", \"document\") | "
     "map(attribute=\"content\") | first -}}{% set n0 = messages | selectattr(\"role\", \"eq\", "
     "\"query\") | map(attribute=\"content\") | first %}{{- messages | selectattr(\"role\", "
     "\"eq\", \"system\") | map(attribute=\"content\") | first|default( 'd d' ) }}x\n   \n\n{{ n0 "
     "}}a",
     "", "\n\n\n\ndd d dx\n   \n\n qq\na"},
    {"{# note #}  }}{{- (messages|selectattr('role','eq','document')|first).content }}x\n   x\n   "
     "}}{{ messages | selectattr(\"role\", \"eq\", \"query\") | map(attribute=\"content\") | first "
     "}}",
     "", "  }}dd x\n   x\n   }} qq\n"},
    {"{% set n0 = messages | selectattr( \"role\" , \"equalto\" , \"system\" )|map(attribute = "
     "'content') | first | default('z') | trim %}  {#- note #}{{- messages | selectattr(\"role\", "
     "\"eq\", \"document\") | map(attribute=\"content\") | first }}{{ messages | selectattr( "
     "\"role\" , \"equalto\" , \"query\" )|map(attribute = 'content') | first }}",
     "", "dd  qq\n"},
    {"{%- set n0 = messages | selectattr(\"role\", \"eq\", \"query\") | map(attribute=\"content\") "
     "| first | trim %}{{- n0 }}{{- n0 }}  {{- "
     "(messages|selectattr('role','eq','document')|first).content|trim -}}",
     "s s", "qqqqdd"},
    {"\n  {# note #}{% set n0 = messages | selectattr( \"role\" , \"equalto\" , \"document\" "
     ")|map(attribute = 'content') | first | trim -%}{{ messages | selectattr(\"role\", \"eq\", "
     "\"query\") | map(attribute=\"content\") | first -}}{{ messages | selectattr( \"role\" , "
     "\"equalto\" , \"document\" )|map(attribute = 'content') | first | trim }}{{ n0 }}",
     "", "\n qq\ndddd"},
};

std::string refusal(const char* form) {
  try {
    PairTemplate::parse(form, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("PairTemplate: as Jinja renders it") {
  for (const Case& c : kCases) {
    CHECK(PairTemplate::parse(c.form, "f").text(" qq\n", "dd ", c.instruction) == c.text);
  }
}

TEST_CASE("PairTemplate: what it cannot read is named") {
  CHECK(refusal("a{% if x %}b{% endif %}") ==
        "f: the chat template has {% if x %}b{% endif %}, wants text and the contents of the roles "
        "query, document and system only");
  CHECK(refusal("{{ messages[0].content }}").find("has {{ messages[0].content }}") < 60);
  CHECK(refusal("{{ unknown }}").find("has {{ unknown }}") < 60);
  CHECK(refusal(
            "{{ messages | selectattr('role', 'eq', 'user') | map(attribute='content') | first }}")
            .find("query, document and system") < 200);
  CHECK(refusal("a {{ open").find("has {{ open") < 60);
  CHECK(refusal("only text") == "f: the chat template leaves out the query of a pair");
}

}  // namespace bert
