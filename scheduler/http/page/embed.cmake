# Run as: cmake -DFOLDER=page/assets -DOUT=assets_data.cc -P embed.cmake
# Writes the C++ source OUT, which contains the files in FOLDER.
file(GLOB files ${FOLDER}/*)
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
set(texts "")
set(table "")
set(number 0)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  string(REGEX REPLACE ".*\\." "" kind ${name})
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(APPEND texts "constexpr char kText${number}[] = \"${bytes}\";  // ${name}\n")
  string(APPEND table "    {\"${path}\", \"${type_${kind}}\", {kText${number}, sizeof(kText${number}) - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made by page/embed.cmake.
#include \"scheduler/http/page/assets.h\"

namespace muster::http {
namespace {

${texts}
}  // namespace

const Asset kAssets[] = {
${table}    {nullptr, nullptr, {}},
};

}  // namespace muster::http
")
