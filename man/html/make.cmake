# Writes the man pages as HTML into OUT, one file each, and index.html. A page that is found beside its source is linked as
# a file; the others are Debian's.
#   cmake -DMANDOC=... -DMAN=FOLDER -DOUT=FOLDER -P make.cmake
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
configure_file(${CMAKE_CURRENT_LIST_DIR}/pages.css ${OUT}/pages.css COPYONLY)
file(GLOB pages ${MAN}/*.[1357])
list(TRANSFORM pages REPLACE ".*/" "" OUTPUT_VARIABLE names)
set(index "")
foreach(section_title "1;Programs" "7;Guides" "5;Formats" "3;Library")
  list(GET section_title 0 section)
  list(GET section_title 1 title)
  string(APPEND index "<h1>${title}</h1>\n<table>\n")
  foreach(name ${names})
    if(NOT name MATCHES "^(.*)\\.${section}$")
      continue()
    endif()
    set(shown "${CMAKE_MATCH_1}(${section})")
    execute_process(COMMAND ${MANDOC} -T html -I os=bertutils
      -O "style=pages.css,man=%N.%S.html;https://manpages.debian.org/%N.%S" ${name}
      WORKING_DIRECTORY ${MAN} OUTPUT_VARIABLE html COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "<body>\n" "<body>\n<nav><a href=\"index.html\">bertutils</a></nav>\n" html "${html}")
    # A section of another page: "see X in page(5)".
    string(REGEX REPLACE "(<a class=\"Sx\" href=\")(#[^\"]+\">[^<]*</a>[ \n]+in[ \n]+<a class=\"Xr\" href=\")([^\"]+)\""
      "\\1\\3\\2\\3\"" html "${html}")
    file(WRITE ${OUT}/${name}.html "${html}")
    file(STRINGS ${MAN}/${name} about REGEX "^\\.Nd " LIMIT_COUNT 1)
    string(REGEX REPLACE "^\\.Nd " "" about "${about}")
    string(APPEND index "<tr><td><a href=\"${name}.html\">${shown}</a></td><td>${about}</td></tr>\n")
  endforeach()
  string(APPEND index "</table>\n")
endforeach()
file(WRITE ${OUT}/index.html "<!DOCTYPE html>
<html>
<head>
  <meta charset=\"utf-8\"/>
  <meta name=\"viewport\" content=\"width=device-width, initial-scale=1.0\"/>
  <link rel=\"stylesheet\" href=\"pages.css\"/>
  <title>bertutils</title>
</head>
<body id=\"index\">
<p>Small programs that read lines, run a BERT model, and write tab-separated rows. Begin with
<a href=\"bert-tools.7.html\">bert-tools(7)</a>.</p>
${index}</body>
</html>
")
